from __future__ import annotations

import ast
import asyncio
import gc
import sys

import pytest

from pytest_convoprobe.loop_thread import LoopThread
from pytest_convoprobe.plain_traces import plain_trace


@pytest.fixture(autouse=True)
def _unparsable(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object, **__: object) -> None:
        raise AssertionError("source was parsed")

    monkeypatch.setattr(ast, "parse", parse)


def _failing() -> None:
    try:
        {}["gizmo"] + 1
    except KeyError as error:
        raise ValueError("no such part") from error


def test_a_trace_has_frames_and_causes_and_no_marks() -> None:
    with pytest.raises(ValueError, match="no such part") as caught:
        _failing()
    lines = plain_trace(caught.value).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert '    {}["gizmo"] + 1' in lines
    assert "KeyError: 'gizmo'" in lines
    assert "The above exception was the direct cause of the following exception:" in lines
    assert lines[-1] == "ValueError: no such part"
    assert not any(set(line.strip()) <= set("~^") for line in lines if line.strip())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with Python 3.11")
def test_a_group_has_its_members() -> None:
    group = ExceptionGroup("two", [ValueError("one"), KeyError("other")])  # noqa: F821
    assert "ValueError: one" in plain_trace(group)
    assert "KeyError: 'other'" in plain_trace(group)


def test_what_a_task_of_our_loops_left_is_logged_without_parsing(caplog: pytest.LogCaptureFixture) -> None:
    async def leave() -> None:
        async def fail() -> None:
            _failing()

        task = asyncio.ensure_future(fail())
        await asyncio.wait({task})

    loop = LoopThread()
    loop.run(leave())
    gc.collect()
    loop.run(asyncio.sleep(0))
    loop.close()
    assert "Task exception was never retrieved" in caplog.text
    assert '    {}["gizmo"] + 1' in caplog.text
    assert "ValueError: no such part" in caplog.text
