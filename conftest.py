"""For the repository's own tests only. Projects that use the plug-in don't need it."""

pytest_plugins = ["pytester"]
