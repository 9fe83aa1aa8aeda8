"""The commands `convoprobe baseline update` and `accept`, one file each."""
