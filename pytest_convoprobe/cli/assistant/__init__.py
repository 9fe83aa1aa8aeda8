"""An MCP server for assistants: the commands of this package as tools, with stored text marked as data."""
