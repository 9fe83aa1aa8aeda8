from __future__ import annotations

from pytest_convoprobe.llm.bounded import bounded
from pytest_convoprobe.llm.port import LLMReply, ToolRequest


def test_a_reply_that_fits_is_the_same() -> None:
    reply = LLMReply("hello", thoughts="hm", tool_requests=(ToolRequest("1", "f", "{}"),))
    assert bounded(reply, 100) == reply


def test_each_text_of_a_reply_is_cut_and_says_so() -> None:
    reply = LLMReply("a" * 500, thoughts="b" * 500, tool_requests=(ToolRequest("1", "f", "c" * 500),))
    cut = bounded(reply, 200)
    assert cut.cut == ("text", "thoughts")
    assert cut.tool_requests[0].cut
    assert max(len(cut.text), len(cut.thoughts), len(cut.tool_requests[0].arguments)) <= 200
    assert bounded(cut, 200) == cut
