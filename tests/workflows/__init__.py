"""What the documented workflows and the action for GitHub do."""
