"""For the repository's own tests; a project that uses the plug-in needs nothing of this."""

pytest_plugins = ["pytester"]
