"""The commands of `convoprobe bench`, one module each; what they share is in the package `shared`."""
