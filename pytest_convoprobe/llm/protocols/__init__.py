"""The protocols in which agents call models: bodies as bytes in, plain data out, and back.

Whatever a body is, reading it never raises. What can't be read is `UNKNOWN`, or has `unread` set.
"""

from .reading import protocol_of, read_answer, read_request
from .types import AnswerError, ModelAnswer, ModelProtocol, ModelRequest, TokenCounts, ToolOutput, WireMessage
from .writing import empty_answer, error_body

__all__ = [
    "AnswerError",
    "ModelAnswer",
    "ModelProtocol",
    "ModelRequest",
    "TokenCounts",
    "ToolOutput",
    "WireMessage",
    "empty_answer",
    "error_body",
    "protocol_of",
    "read_answer",
    "read_request",
]
