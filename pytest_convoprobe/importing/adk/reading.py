"""From an ADK eval set to scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...yaml_source import Loc
from ..building import ScenarioBuilder, quoted, shorten_line
from ..notes import Fate, ImportedSuite, ImportedTest, ImportNote
from ..noting import note
from ..options import ImportOptions
from ..shapes import as_items, as_mapping, is_no_list
from ..sources import ForeignFile
from .cases import calls_in, cases_of, has_files, rubrics_in, snake, text_of
from .criteria import AdkCriteria, criteria_for
from .metrics import AdkCase, AdkTurn, take_criterion

# Numbers and times that ADK writes for itself.
_BOOKKEEPING = frozenset(
    "invocation_id creation_timestamp role app_details duration inference_call_count invocation_index "
    "tool_use_index".split()
)
_CASE_KEYS = frozenset(
    "eval_id conversation conversation_scenario session_input rubrics final_session_state".split()
)
_TURN_KEYS = frozenset("user_content final_response intermediate_data rubrics".split())
_DATA_KEYS = frozenset("tool_uses tool_responses intermediate_responses invocation_events mocked".split())
_SET_KEYS = frozenset("eval_set_id name description eval_cases creation_timestamp".split())
_EXPERTISE = {"NOVICE": "novice", "EXPERT": "expert"}


def read(source: ForeignFile, options: ImportOptions) -> ImportedSuite:
    """The cases of an eval set, each with every criterion."""
    cases = cases_of(source)
    criteria = criteria_for(source.path, options.criteria)
    tests = tuple(_test(source, loc, case, criteria) for loc, case in cases)
    return ImportedSuite("adk", source.name, tests, tuple(_notes(source, criteria)))


def _notes(source: ForeignFile, criteria: AdkCriteria) -> Iterator[ImportNote]:
    if criteria.source is None:
        why = "there is no test_config.json beside the file, so the two criteria count that ADK takes then"
        yield note(Fate.LEFT_OUT, "the file", "default criteria", why, "name one with --criteria")
    for key in criteria.others.keys() - {"custom_metrics"}:
        place = f"{criteria.source.name if criteria.source else ''}: {key}"
        if key == "user_simulator_config":
            why = "settings of ADK's simulated user aren't taken over, but for the number of its messages"
            yield note(Fate.LEFT_OUT, place, f"`{key}`", why)
        else:
            why = f"`{key}` isn't a known key of a file with criteria"
            yield note(Fate.LEFT_OUT, place, "unknown key", why)
    for key in sorted(snake(as_mapping(source.data)).keys() - _SET_KEYS):
        yield note(Fate.LEFT_OUT, key, "unknown key", f"`{key}` isn't a known key of an eval set")


def _test(source: ForeignFile, loc: Loc, case: dict[str, Any], criteria: AdkCriteria) -> ImportedTest:
    source_id = str(case.get("eval_id") or source.place(loc))
    builder = ScenarioBuilder(source, loc, source_id, source_id)
    builder.tags.append("adk")
    for key in case.keys() - _CASE_KEYS - _BOOKKEEPING:
        builder.left_out((key,), "unknown key", f"`{key}` isn't a known key of an eval case")
    _session(builder, case)
    scenario = snake(case.get("conversation_scenario"))
    turns = [] if scenario else _turns(builder, case.get("conversation"))
    if scenario:
        _simulated(builder, scenario, criteria)
    elif not turns:
        builder.refuse("it has neither a `conversation` nor a `conversation_scenario`")
    builder.description = f"A case of an ADK eval set: {shorten_line(builder.initial_query, 120)}"
    _criteria(builder, case, turns, criteria)
    return builder.build()


def _criteria(
    builder: ScenarioBuilder, case: Mapping[str, Any], turns: Sequence[AdkTurn], criteria: AdkCriteria
) -> None:
    if is_no_list(case.get("rubrics")):
        builder.lost(("rubrics",), "unknown form", "its rubrics aren't a list")
    seen = AdkCase(turns, rubrics_in(case.get("rubrics")), bool(case.get("conversation_scenario")))
    for one in criteria.each:
        take_criterion(one, seen, builder, ())
    used = any("rubric" in one.name for one in criteria.each)
    if not used and (seen.rubrics or any(turn.rubrics for turn in turns)):
        why = "no criterion of the suite uses them"
        builder.left_out(("rubrics",), "rubrics", why, "name the criteria with --criteria")


def _session(builder: ScenarioBuilder, case: Mapping[str, Any]) -> None:
    session = snake(case.get("session_input"))
    if state := session.get("state"):
        builder.metadata["session_state"] = state
        why = "the state of the session is in `metadata.session_state`; the agent doesn't get it by itself"
        builder.left_out(
            ("session_input", "state"), "session state", why, "give it to the agent in a fixture"
        )
    for key in ("app_name", "user_id"):
        if session.get(key):
            builder.metadata[key] = session[key]
    for key in session.keys() - {"state", "app_name", "user_id"}:
        if session[key] is not None:
            builder.left_out(("session_input", key), f"`{key}` of a session", "sessions have their own")
    if case.get("final_session_state"):
        builder.metadata["final_session_state"] = case["final_session_state"]
        builder.lost(
            ("final_session_state",), "final session state", "the agent's state isn't compared with it"
        )


def _turns(builder: ScenarioBuilder, conversation: Any) -> list[AdkTurn]:
    """The messages of the user, word for word, and what is expected after each."""
    found = [snake(one) for one in conversation] if isinstance(conversation, list) else []
    turns = [_turn(builder, index, one) for index, one in enumerate(found)]
    if turns:
        builder.initial_query, *builder.script = [turn.asked for turn in turns]
        builder.max_turns = len(turns)
        builder.persona = "A user whose messages are given word for word."
    if len(turns) > 100:
        builder.refuse(f"it has {len(turns)} turns, and a scenario has 100 at most")
    return turns


def _turn(builder: ScenarioBuilder, index: int, turn: dict[str, Any]) -> AdkTurn:
    loc: Loc = ("conversation", index)
    for key in turn.keys() - _TURN_KEYS - _BOOKKEEPING:
        if turn[key] not in (None, [], ""):
            builder.left_out((*loc, key), "unknown key", f"`{key}` isn't a known key of an invocation")
    content = turn.get("user_content")
    asked = text_of(content)
    if not asked.strip():
        builder.refuse(f"message {index + 1} of the user has no text")
    if has_files(content):
        why = "a message has parts that aren't text (files, images), which users of scenarios can't send"
        builder.left_out((*loc, "user_content"), "files in a message", why, "the agent gets the text alone")
    data = snake(turn.get("intermediate_data"))
    _note_data(builder, (*loc, "intermediate_data"), data)
    if is_no_list(data.get("tool_uses")) or is_no_list(turn.get("rubrics")):
        builder.lost(loc, "unknown form", "its expected calls or its rubrics aren't a list")
    answer, rubrics = text_of(turn.get("final_response")), rubrics_in(turn.get("rubrics"))
    return AdkTurn(asked, answer, calls_in(data), rubrics)


def _note_data(builder: ScenarioBuilder, loc: Loc, data: Mapping[str, Any]) -> None:
    for key in data.keys() - _DATA_KEYS:
        builder.left_out((*loc, key), "unknown key", f"`{key}` isn't a known key of intermediate data")
    if data.get("intermediate_responses"):
        why = "what agents say between calls of tools isn't compared; ADK doesn't either"
        builder.left_out(loc, "intermediate responses", why)
    if data.get("mocked") or data.get("tool_responses"):
        why = "results of tools aren't taken from the eval set: the agent's own tools answer"
        builder.left_out(loc, "results of tools", why, "let its tools use invented data")


def _simulated(builder: ScenarioBuilder, scenario: dict[str, Any], criteria: AdkCriteria) -> None:
    """A case in which ADK's user writes its own messages after the first."""
    for key in scenario.keys() - {"starting_prompt", "conversation_plan", "user_persona"}:
        loc: Loc = ("conversation_scenario", key)
        builder.left_out(loc, "unknown key", f"`{key}` isn't a known key of a conversation scenario")
    builder.initial_query = str(scenario.get("starting_prompt") or "")
    builder.max_turns = criteria.max_turns
    persona = scenario.get("user_persona")
    words = [str(scenario.get("conversation_plan") or "")]
    if isinstance(persona, str):
        _known_persona(builder, persona)
    elif persona:
        words += _described(snake(persona))
    builder.persona = "\n".join(filter(None, words))


def _known_persona(builder: ScenarioBuilder, name: str) -> None:
    if name.upper() in _EXPERTISE:
        builder.traits["expertise"] = _EXPERTISE[name.upper()]
    else:
        loc: Loc = ("conversation_scenario", "user_persona")
        why = f"ADK's persona {quoted(name)} is described in ADK, and not in this file"
        builder.left_out(loc, "persona by name", why, "describe it in `synthetic_user.persona`")


def _described(persona: dict[str, Any]) -> list[str]:
    behaviors = [snake(one) for one in as_items(persona.get("behaviors"))]
    rules = [str(rule) for one in behaviors for rule in as_items(one.get("behavior_instructions"))]
    return [str(persona.get("description") or ""), *(f"- {rule}" for rule in rules)]
