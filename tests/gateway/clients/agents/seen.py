"""What an agent keeps of a conversation: all that its client got, in a file for each conversation."""

import os
import uuid
from pathlib import Path


class Seen:
    def __init__(self):
        self._file = Path(os.environ["SEEN"], uuid.uuid4().hex)
        self._file.touch()

    def __call__(self, got):
        with self._file.open("ab") as file:
            file.write((got if isinstance(got, bytes) else got.encode()) + b"\n")


def lookup(order):
    return f"{order} is on its way"


SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
ABOUT = {"name": "lookup", "description": "Look up an order."}
