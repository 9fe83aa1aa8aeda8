"""What the commands of `convoprobe bench` share: options, progress, tables."""
