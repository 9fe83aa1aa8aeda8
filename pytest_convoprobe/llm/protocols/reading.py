"""Reads the body of a request or of an answer by its protocol. Nothing here raises, whatever the body is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from . import chat, embeddings, messages, responses
from .events import WireEvent, is_stream, read_events
from .failing import error_in
from .shapes import all_texts, mapping, read_data, text_of
from .types import ModelAnswer, ModelProtocol, ModelRequest, WireMessage

_READERS: dict[ModelProtocol, Callable[[dict[str, Any]], ModelRequest]] = {
    ModelProtocol.CHAT: chat.read_request,
    ModelProtocol.RESPONSES: responses.read_request,
    ModelProtocol.MESSAGES: messages.read_request,
    ModelProtocol.EMBEDDINGS: embeddings.read_request,
}
_ANSWERS: dict[ModelProtocol, Callable[[dict[str, Any]], ModelAnswer]] = {
    ModelProtocol.CHAT: chat.read_answer,
    ModelProtocol.RESPONSES: responses.read_answer,
    ModelProtocol.MESSAGES: messages.read_answer,
    ModelProtocol.EMBEDDINGS: embeddings.read_answer,
}
_STREAMS: dict[ModelProtocol, Callable[[Iterable[WireEvent]], ModelAnswer]] = {
    ModelProtocol.CHAT: chat.read_stream,
    ModelProtocol.RESPONSES: responses.read_stream,
    ModelProtocol.MESSAGES: messages.read_stream,
}


def protocol_of(path: str) -> ModelProtocol:
    """The protocol of a path, such as `v1/chat/completions`; a base address before it makes no difference."""
    parts = path.strip("/").split("/")
    if parts[-2:] == ["chat", "completions"]:
        return ModelProtocol.CHAT
    if parts[-1] == "responses":
        return ModelProtocol.RESPONSES
    if parts[-1] == "embeddings":
        return ModelProtocol.EMBEDDINGS
    # Not of `threads/…/messages`.
    return (
        ModelProtocol.MESSAGES
        if parts == ["messages"] or parts[-2:] == ["v1", "messages"]
        else ModelProtocol.UNKNOWN
    )


def read_request(path: str, body: bytes) -> ModelRequest:
    """The request in a body that was sent to a path."""
    protocol = protocol_of(path)
    try:
        data = read_data(body) if body else {}
    except ValueError as error:
        return _unread(protocol, body, str(error))
    reader = _READERS.get(protocol)
    if reader is None or not isinstance(data, dict):
        return _any_request(protocol, data)
    return reader(data)


def _unread(protocol: ModelProtocol, body: bytes, reason: str) -> ModelRequest:
    digest = hashlib.sha256(_without_boundary(body)).hexdigest()[:16]
    text = body.decode("utf-8", "replace")
    # A form with a file has readable parts, but no field that could be named.
    return ModelRequest(
        protocol,
        messages=(WireMessage("body", f"[body {digest}]", data=digest),),
        texts=(text,),
        unread=reason,
    )


def _without_boundary(body: bytes) -> bytes:
    """A form with files without the random mark between its parts."""
    first = body.partition(b"\r\n")[0]
    return body.replace(first[2:], b"") if first.startswith(b"--") and 8 < len(first) < 100 else body


def _any_request(protocol: ModelProtocol, data: Any) -> ModelRequest:
    texts = tuple(text for text in all_texts(data) if text)
    said = (WireMessage("body", data=data),) if data else ()
    return ModelRequest(protocol, text_of(mapping(data).get("model")), said, texts=texts)


def read_answer(protocol: ModelProtocol, content_type: str, body: bytes) -> ModelAnswer:
    """The answer in a body: JSON, or a whole stream of events."""
    if is_stream(content_type, body) and protocol in _STREAMS:
        return _STREAMS[protocol](read_events(body))
    try:
        data = read_data(body)
    except ValueError:
        return ModelAnswer(complete=False)
    reader = _ANSWERS.get(protocol)
    if reader is None or not isinstance(data, dict):
        return ModelAnswer(error=error_in(data), complete=reader is None)
    return reader(data)
