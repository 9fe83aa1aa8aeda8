"""Reads promptfoo's configurations: `prompts`, `tests`, `defaultTest`, `scenarios`, and assertions."""
