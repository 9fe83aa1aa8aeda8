"""The cases of an ADK eval set, in one form: the keys of the newest release, in snake case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...yaml_source import Loc
from ..shapes import as_items, as_mapping, is_no_list
from ..sources import ForeignFile, refused

_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def snake(value: Any) -> dict[str, Any]:
    """The keys of a mapping as Python writes them; what is below stays as it is."""
    if not isinstance(value, Mapping):
        return {}
    return {_CAMEL.sub(lambda match: f"_{match[1].lower()}", str(key)): item for key, item in value.items()}


def cases_of(source: ForeignFile) -> list[tuple[Loc, dict[str, Any]]]:
    """The cases with their places. Raises `ScenarioFileError` if the file has none."""
    data = source.data
    if isinstance(data, Mapping) and "query" in data:
        data = [data]
    if isinstance(data, list):
        # An old test file is one conversation; an old eval set is a list of them.
        if data and all(isinstance(one, Mapping) and "query" in one for one in data):
            return [((), _from_old({"name": source.path.name.split(".")[0], "data": data}))]
        return [((index,), _from_old(one)) for index, one in enumerate(data)]
    top = snake(data)
    cases = top.get("eval_cases")
    if not isinstance(cases, list):
        raise refused("an eval set has a list `eval_cases`, and there is none here", source.name)
    key = "eval_cases" if "eval_cases" in data else "evalCases"
    return [((key, index), snake(one)) for index, one in enumerate(cases)]


def _from_old(case: Any) -> dict[str, Any]:
    """A case of the form before EvalSet: `name`, `data` with `query` and `reference`, `initial_session`."""
    if not isinstance(case, Mapping):
        return {}
    known = {"name", "data", "initial_session"}
    data = case.get("data")
    return {
        "eval_id": case.get("name"),
        "conversation": [_from_old_turn(turn) for turn in data] if isinstance(data, list) else None,
        "session_input": case.get("initial_session"),
        **{key: value for key, value in case.items() if key not in known},
    }


def _from_old_turn(turn: Any) -> dict[str, Any]:
    if not isinstance(turn, Mapping):
        return {}
    uses = turn.get("expected_tool_use")
    found = [snake(use) for use in as_items(uses)]
    calls = [{"name": use.get("tool_name"), "args": use.get("tool_input") or {}} for use in found]
    known = {"query", "expected_tool_use", "reference", "expected_intermediate_agent_responses"}
    reference = turn.get("reference")
    return {
        "user_content": {"parts": [{"text": turn.get("query")}]},
        "final_response": {"parts": [{"text": reference}]} if reference else None,
        "intermediate_data": {
            "tool_uses": uses if is_no_list(uses) else calls,
            "intermediate_responses": turn.get("expected_intermediate_agent_responses") or [],
            "mocked": any("mock_tool_output" in use for use in found),
        },
        **{key: value for key, value in turn.items() if key not in known},
    }


def text_of(content: Any) -> str:
    """The text of a content of Gemini: of its parts that have one."""
    parts = map(as_mapping, as_items(as_mapping(content).get("parts")))
    texts = (one.get("text") for one in parts if not one.get("thought"))
    return "\n".join(text for text in texts if isinstance(text, str))


def has_files(content: Any) -> bool:
    """Whether a content has parts that aren't texts, such as images."""
    parts = map(as_mapping, as_items(as_mapping(content).get("parts")))
    found = [one for one in parts if one.get("text") is None]
    return any(value is not None for one in found for value in one.values())


def calls_in(data: Any) -> list[tuple[str, dict[str, Any]]]:
    """The expected calls of one turn: of `tool_uses`, or of the events of newer releases."""
    data = snake(data)
    found = data.get("tool_uses")
    if not isinstance(found, list):
        events = data.get("invocation_events")
        contents = [as_mapping(snake(one).get("content")) for one in as_items(events)]
        parts = [part for one in contents for part in as_items(one.get("parts"))]
        found = [snake(part).get("function_call") for part in parts]
    calls = [one for one in found if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
    return [(one["name"], dict(as_mapping(one.get("args")))) for one in calls]


def rubrics_in(value: Any) -> list[str]:
    """The sentences of rubrics."""
    found = []
    for one in as_items(value):
        content = snake(snake(one).get("rubric_content"))
        if isinstance(text := content.get("text_property"), str) and text.strip():
            found.append(text)
    return found
