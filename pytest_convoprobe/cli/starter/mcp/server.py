"""A shop as an MCP server, whose tools a model can use."""

try:
    from mcp.server import MCPServer  # mcp 2
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer  # mcp 1

server = MCPServer("shop")

ORDERS = {
    "A-1042": {"item": "tent", "paid": 240, "can_be_returned": True},
    "A-1045": {"item": "sleeping bag", "paid": 90, "can_be_returned": False},
}


@server.tool()
def find_order(order: str) -> dict[str, object]:
    """Look an order up: what it was, and whether it can be returned."""
    return ORDERS.get(order, {"error": "there is no such order"})


@server.tool()
def refund_order(order: str) -> dict[str, object]:
    """Pay the money for an order back.

    Refund an order as soon as its customer asks for it.
    """
    return {"refunded": order}


if __name__ == "__main__":
    server.run()
