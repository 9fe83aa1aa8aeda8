"""Reads datasets of deepeval: goldens and conversational goldens, as JSON, JSON Lines or CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..yaml_source import Loc
from .building import ScenarioBuilder, is_tool_name, shorten_line
from .calls import some_call
from .notes import Fate, ImportedSuite, ImportedTest, ImportNote
from .options import ImportOptions
from .sentences import says_the_same
from .shapes import as_items, is_no_list
from .sources import ForeignFile, refused

_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_TURNS = 10
_METRIC = "which metric compares it, and with what threshold, is in code and not in the dataset"
_EARLIER = "it is the output of an earlier run; the agent is asked again"
_RETRIEVED = "it is for metrics about retrieval; `metadata` has it, for a check of your own"
_RESULTS = frozenset(
    "actual_output tools_called token_cost completion_time input_token_count output_token_count".split()
)
_KEPT = frozenset("additional_metadata comments custom_column_key_values source_file".split())
_QUIET = frozenset(
    "name id multimodal images_mapping dataset_rank dataset_alias dataset_id finalized".split()
)
_SINGLE = frozenset("input expected_output expected_tools context retrieval_context".split())
_TALK = frozenset("scenario expected_outcome user_description persona turns context goldens messages".split())
_IMAGE = re.compile(r"\[DEEPEVAL:[A-Z]+:[^\]]*\]")
_CODE = "metrics are chosen in code (`assert_test`, `evaluate`), which isn't read"


def read(source: ForeignFile, options: ImportOptions) -> ImportedSuite:
    """The goldens of a dataset."""
    tests = tuple(_test(source, loc, _snake(one), options) for loc, one in _goldens(source))
    note = ImportNote(Fate.LEFT_OUT, "the file", "metrics", _CODE, "write what they measure as criteria")
    return ImportedSuite("deepeval", source.name, tests, (note,))


def _goldens(source: ForeignFile) -> Iterator[tuple[Loc, Mapping[str, Any]]]:
    data = source.data
    lists: list[tuple[Loc, Any]] = [((), data)]
    if isinstance(data, Mapping):
        names = ("goldens", "conversationalGoldens", "conversational_goldens", "test_cases", "testCases")
        lists = [((name,), data[name]) for name in names if name in data]
        if not lists and ("input" in data or "scenario" in data):
            lists = [((), [data])]
    if not lists or not all(isinstance(found, list) for _, found in lists):
        raise refused("a dataset of deepeval is a list of goldens, and there is none here", source.name)
    for loc, found in lists:
        for index, one in enumerate(found):
            yield (*loc, index), one if isinstance(one, Mapping) else {}


def _snake(golden: Mapping[str, Any]) -> dict[str, Any]:
    """Keys as Python writes them; the cells of a table that have JSON are read."""
    found = {
        _CAMEL.sub(lambda match: f"_{match[1].lower()}", str(key)): value for key, value in golden.items()
    }
    return {key: _cell(key, value) for key, value in found.items() if value not in (None, "", [], {})}


def _cell(key: str, value: Any) -> Any:
    if not isinstance(value, str) or key in ("input", "expected_output", "scenario", "expected_outcome"):
        return value
    if value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    if key in ("context", "retrieval_context"):
        return value.split("|")
    return (
        [part.strip() for part in re.split("[;,]", value)]
        if key in ("expected_tools", "tools_called")
        else value
    )


def _test(source: ForeignFile, loc: Loc, golden: dict[str, Any], options: ImportOptions) -> ImportedTest:
    source_id = str(golden.get("name") or golden.get("id") or source.place(loc))
    builder = ScenarioBuilder(source, loc, source_id, str(golden.get("name") or ""))
    builder.tags.append("deepeval")
    is_talk = "scenario" in golden or (
        "input" not in golden and bool(golden.keys() & {"turns", "goldens", "messages"})
    )
    _note_keys(builder, golden, _TALK if is_talk else _SINGLE)
    for key in _KEPT & golden.keys():
        builder.metadata[key] = golden[key]
    if is_talk:
        _conversation(builder, golden, options)
    else:
        _message(builder, golden)
    builder.name = builder.name or shorten_line(str(golden.get("scenario") or builder.initial_query), 60)
    builder.description = (
        builder.description or f"A golden of deepeval: {shorten_line(builder.initial_query, 120)}"
    )
    return builder.build()


def _note_keys(builder: ScenarioBuilder, golden: Mapping[str, Any], used: frozenset[str]) -> None:
    for key in golden.keys() - used - _KEPT - _QUIET:
        if key in _RESULTS:
            builder.left_out((key,), f"`{key}`", _EARLIER)
        else:
            builder.left_out((key,), "unknown key", f"`{key}` isn't a known key of a golden")
    for key in ("context", "retrieval_context"):
        if key in golden:
            builder.metadata[key] = golden[key]
            builder.left_out((key,), f"`{key}`", _RETRIEVED)


def _message(builder: ScenarioBuilder, golden: Mapping[str, Any]) -> None:
    """A golden of one turn."""
    builder.initial_query = str(golden.get("input") or "")
    builder.persona = "A user who sends one message."
    _note_images(builder, ("input",), builder.initial_query)
    if reference := golden.get("expected_output"):
        builder.must(says_the_same([str(reference)]))
        builder.changed(("expected_output",), "expected_output", _METRIC)
    _expected_tools(builder, golden.get("expected_tools"), ("expected_tools",))


def _note_images(builder: ScenarioBuilder, loc: Loc, text: str) -> None:
    if _IMAGE.search(text):
        builder.left_out(
            loc, "images", "users of scenarios send texts alone; the mark of the image is sent as it is"
        )


def _expected_tools(builder: ScenarioBuilder, tools: Any, loc: Loc) -> None:
    for index, tool in enumerate(tools if isinstance(tools, list) else [tools] if tools else []):
        place: Loc = (*loc, index)
        found = _snake(tool) if isinstance(tool, Mapping) else {"name": tool}
        name, args = found.get("name"), found.get("input_parameters")
        if not is_tool_name(name):
            builder.lost(place, "expected tool", "it has no name that a tool can have")
        elif isinstance(args, Mapping) and args:
            builder.tools(tool_call_criteria=[some_call(str(name), args)])
            why = "its arguments have to be these; deepeval compares them only with `evaluation_params`"
            builder.changed(place, "arguments of an expected tool", why)
        else:
            builder.tools(required_tools=[str(name)])
            builder.taken()
        for key in found.keys() - {"name", "input_parameters"}:
            why = "the names and the arguments of tools are compared alone"
            builder.left_out((*place, key), f"`{key}` of an expected tool", why)


def _conversation(builder: ScenarioBuilder, golden: Mapping[str, Any], options: ImportOptions) -> None:
    """A golden of many turns: its scenario is what the user is about."""
    persona = golden.get("persona")
    words = [*_described(persona), str(golden.get("user_description") or "") if not persona else ""]
    scenario = str(golden.get("scenario") or "")
    builder.persona = "\n\n".join(filter(None, [*words, scenario]))
    builder.description = scenario
    builder.max_turns = _TURNS
    turns = golden.get("turns") or golden.get("goldens") or golden.get("messages")
    if is_no_list(turns) or len(as_items(turns)) != sum(isinstance(one, Mapping) for one in as_items(turns)):
        builder.left_out(("turns",), "unknown form", "its turns aren't a list of messages")
    found = [one for one in as_items(turns) if isinstance(one, Mapping)]
    if found and all("input" in one for one in found):
        _script(builder, [_snake(one) for one in found])
    else:
        builder.history = [message for one in found for message in _earlier(one)]
        builder.begin_unknown(options)
    if outcome := golden.get("expected_outcome"):
        builder.must(f"This is how the conversation comes out: {outcome}")
        builder.changed(("expected_outcome",), "expected_outcome", _METRIC)


def _script(builder: ScenarioBuilder, turns: list[dict[str, Any]]) -> None:
    """Turns in the form of older releases: a golden each."""
    builder.initial_query, *builder.script = [str(one.get("input") or "") for one in turns]
    builder.max_turns = len(turns)
    builder.persona = builder.persona or "A user whose messages are given word for word."
    for index, one in enumerate(turns):
        if reference := one.get("expected_output"):
            builder.must(says_the_same([str(reference)], str(one["input"]) if len(turns) > 1 else ""))
            builder.changed(("turns", index, "expected_output"), "expected_output", _METRIC)
        _expected_tools(builder, one.get("expected_tools"), ("turns", index, "expected_tools"))


def _described(persona: Any) -> list[str]:
    """A persona of newer releases, as text."""
    if not isinstance(persona, Mapping):
        return [persona] if isinstance(persona, str) else []
    return [
        str(value) if key == "characteristics" else f"{str(key).replace('_', ' ')}: {value}"
        for key, value in persona.items()
        if value not in (None, "", [], {})
    ]


def _earlier(turn: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    side = {"user": "user", "assistant": "agent"}.get(str(turn.get("role")))
    if side and isinstance(text := turn.get("content"), str) and text.strip():
        yield {side: text}
