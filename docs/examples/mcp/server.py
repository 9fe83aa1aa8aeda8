"""A shop whose tools a model can call."""

try:
    from mcp.server import MCPServer  # mcp 2
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer  # mcp 1

server = MCPServer("shop")


@server.tool()
def find_order(number: int) -> dict[str, object]:
    """Find an order of the shop by its number."""
    return {"number": number, "status": "shipped"}


server.run()
