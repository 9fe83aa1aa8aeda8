"""Texts of bodies are changed, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.llm.protocols import ModelProtocol, read_answer
from pytest_convoprobe.llm.protocols.rewriting import with_texts

from .bodies import body, chunk, sse
from .test_hostile import DATA

KINDS = ["application/json", "text/event-stream", "application/x-ndjson", "text/plain", ""]
LINES = st.lists(DATA.map(json.dumps) | st.text(max_size=20), max_size=6)


@given(
    kind=st.sampled_from(KINDS),
    given=st.binary()
    | LINES.map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass"))
    | LINES.map(
        lambda lines: "".join(f"data: {line}\n\n" for line in lines).encode("utf-8", "surrogatepass")
    ),
    masks=st.booleans(),
)
def test_without_a_change_every_byte_stays(kind: str, given: bytes, *, masks: bool) -> None:
    assert with_texts(kind, given, str, masks=masks) == given
    with_texts(kind, given, lambda text: text.replace("a", "\ud800"), masks=masks)
    with_texts(kind, given, str.upper, masks=masks)


@given(words=st.lists(st.text("abc xyz", max_size=5), min_size=1, max_size=8))
def test_the_text_of_a_stream_is_changed_as_a_whole(words: list[str]) -> None:
    given = sse(*(chunk({"content": word}) for word in words), chunk({}, "stop"), done=True)
    changed = with_texts("text/event-stream", given, lambda text: text.replace("xyz", "****"))

    read = read_answer(ModelProtocol.CHAT, "text/event-stream", changed)
    assert read.text == "".join(words).replace("xyz", "****")
    assert read.complete
    assert changed.count(b"\n\n") == given.count(b"\n\n")


@pytest.mark.parametrize(
    "layout", [{}, {"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False}], ids=str
)
def test_the_layout_of_a_changed_body_stays(layout: dict[str, Any]) -> None:
    given, wanted = ({"a": [1, {"b": word}], "n": 1.5} for word in ("old", "new"))
    changed = with_texts(
        "application/json", json.dumps(given, **layout).encode(), lambda text: text.replace("old", "new")
    )

    assert changed == json.dumps(wanted, **layout).encode()


def test_numbers_and_vectors_are_no_texts() -> None:
    given = body({"data": [{"embedding": "1234", "b64_json": "1234", "n": 1234, "text": "1234"}]})
    changed = json.loads(with_texts("application/json", given, lambda text: text.replace("1234", "x")))

    assert changed == {"data": [{"embedding": "1234", "b64_json": "1234", "n": 1234, "text": "x"}]}
