"""What runs leave behind: the store on disk, its readers, and what the past can answer."""
