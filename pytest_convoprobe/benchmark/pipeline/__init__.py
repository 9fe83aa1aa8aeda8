"""The stages in their order, and what drives them."""
