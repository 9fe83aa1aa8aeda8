def order_is_cancelled(agent):
    """The order A-1001 is cancelled, and no other one."""
    cancelled = [number for number, order in agent.orders.items() if order["status"] == "cancelled"]
    assert cancelled == ["A-1001"], f"cancelled: {cancelled}"


def warehouse_knows(state):
    """The warehouse has heard of it."""
    return state == ["cancel A-1001"]
