"""Reads tasks of τ²-bench: user scenarios, initial states and evaluation criteria."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..yaml_source import Loc
from .building import OWN_CHECK, ScenarioBuilder, is_tool_name, quoted, shorten_line
from .calls import OTHER_ARGUMENTS, some_call
from .notes import ImportedSuite, ImportedTest
from .options import ImportOptions
from .shapes import as_items, as_mapping, is_no_list
from .sources import ForeignFile, refused

_TURNS = 30
_DEFAULT_BASIS = ("DB", "COMMUNICATE")
_TASK_KEYS = frozenset("id description user_scenario initial_state evaluation_criteria".split())
_LEFT_OUT = {
    "ticket": "the task as a ticket is for agents without a user",
    "required_documents": "documents are given to the target, not by a scenario",
    "user_tools": "the synthetic user has no tools, so it can't do anything on a device of its own",
    "issues": "",
    "annotations": "",
}
_CRITERIA_KEYS = frozenset("actions env_assertions communicate_info nl_assertions reward_basis".split())
_INSTRUCTIONS = frozenset("domain reason_for_call known_info unknown_info task_instructions".split())
_STATE = "`metadata` has the data: seed the target with it in a fixture"
_END = re.compile(r" *###(?:STOP|TRANSFER|OUT-OF-SCOPE)###")
_NUMBER = re.compile(r"(?<![\w-])\d(?:,?\d){3,}")


def read(source: ForeignFile, options: ImportOptions) -> ImportedSuite:
    """The tasks of a file: a list, one task, or a mapping with `tasks`."""
    tasks: list[tuple[Loc, Any]]
    if isinstance(source.data, list):
        tasks = [((index,), one) for index, one in enumerate(source.data)]
    elif isinstance(source.data, Mapping) and isinstance(source.data.get("tasks"), list):
        tasks = [(("tasks", index), one) for index, one in enumerate(source.data["tasks"])]
    elif isinstance(source.data, Mapping) and "user_scenario" in source.data:
        tasks = [((), source.data)]
    else:
        raise refused("a file of τ²-bench has a list of tasks, and there is none here", source.name)
    return ImportedSuite("tau2", source.name, tuple(_test(source, loc, one, options) for loc, one in tasks))


def _test(source: ForeignFile, loc: Loc, task: Any, options: ImportOptions) -> ImportedTest:
    data = as_mapping(task)
    source_id = str(data.get("id", source.place(loc)))
    builder = ScenarioBuilder(source, loc, source_id, "")
    _note_keys(builder, data)
    user = as_mapping(data.get("user_scenario"))
    if not user:
        builder.refuse("it has no `user_scenario`")
    _describe(builder, source_id, as_mapping(data.get("description")))
    _user(builder, user)
    _initial_state(builder, as_mapping(data.get("initial_state")))
    builder.max_turns = _TURNS
    builder.begin_unknown(options)
    _Criteria(builder, as_mapping(data.get("evaluation_criteria"))).take()
    builder.tags.append("tau2")
    return builder.build()


def _note_keys(builder: ScenarioBuilder, task: Mapping[str, Any]) -> None:
    for key, value in task.items():
        why = _LEFT_OUT.get(key)
        if value in (None, [], "", {}) or key in _TASK_KEYS or why == "":
            continue
        kind = f"`{key}`" if why else "unknown key"
        builder.left_out((key,), kind, why or f"`{key}` isn't a known key of a task")


def _describe(builder: ScenarioBuilder, source_id: str, about: Mapping[str, Any]) -> None:
    purpose = str(about.get("purpose") or "")
    policies, notes = about.get("relevant_policies"), about.get("notes")
    lines = [purpose, f"Policy: {policies}" if policies else "", str(notes or "")]
    builder.description = "\n".join(filter(None, lines)) or f"Task {source_id} of τ²-bench."
    builder.name = f"Task {source_id}{f': {shorten_line(purpose, 60)}' if purpose else ''}"


def _user(builder: ScenarioBuilder, user: Mapping[str, Any]) -> None:
    for key in user.keys() - {"persona", "instructions"}:
        builder.left_out(
            ("user_scenario", key), "unknown key", f"`{key}` isn't a known key of a user scenario"
        )
    told = user.get("instructions")
    parts = [told] if isinstance(told, str) else _structured(builder, as_mapping(told))
    texts = (part.strip() for part in (str(user.get("persona") or ""), *parts))
    persona = "\n\n".join(filter(None, texts))
    builder.persona = _END.sub("", persona).strip()
    if builder.persona != persona:
        why = (
            "the synthetic user ends a conversation by itself, so the word for it is taken out of its persona"
        )
        builder.left_out(("user_scenario", "instructions"), "word for the end", why)


def _structured(builder: ScenarioBuilder, told: Mapping[str, Any]) -> list[str]:
    """Instructions in parts: what belongs to the persona is given back, what the user knows is noted."""
    for key in told.keys() - _INSTRUCTIONS:
        loc: Loc = ("user_scenario", "instructions", key)
        builder.left_out(loc, "unknown key", f"`{key}` isn't a known key of instructions")
    builder.known_facts = _facts(told.get("known_info"))
    builder.unknown_facts = _facts(told.get("unknown_info"))
    if told.get("domain"):
        builder.metadata["domain"] = told["domain"]
    return [str(told.get(key) or "") for key in ("reason_for_call", "task_instructions")]


def _facts(text: Any) -> list[str]:
    """The lines of a text, each a fact."""
    lines = (line.strip(" \t-•") for line in str(text or "").split("\n"))
    return [line for line in lines if line]


def _initial_state(builder: ScenarioBuilder, state: Mapping[str, Any]) -> None:
    kept = {}
    for key, value in state.items():
        if value in (None, [], {}):
            continue
        if key == "message_history":
            builder.history = list(_history(value))
            continue
        kept[key] = value
        known = key in ("initialization_data", "initialization_actions")
        why = (
            "the state that the task begins with isn't set up"
            if known
            else f"`{key}` isn't a known key of a state"
        )
        builder.left_out(("initial_state", key), "initial state" if known else "unknown key", why, _STATE)
    if kept:
        builder.metadata["initial_state"] = kept


def _history(messages: Any) -> Iterator[dict[str, Any]]:
    """What was said before. Results of tools belong to their calls."""
    found = [one for one in as_items(messages) if isinstance(one, Mapping)]
    results = {str(one.get("id")): one.get("content") for one in found if one.get("role") == "tool"}
    for one in found:
        text, side = one.get("content"), {"user": "user", "assistant": "agent"}.get(str(one.get("role")))
        if side and isinstance(text, str) and text.strip():
            yield {side: text}
        if side == "agent" and (calls := [_call(call, results) for call in as_items(one.get("tool_calls"))]):
            yield {"tool_calls": calls}


def _call(call: Any, results: Mapping[str, Any]) -> dict[str, Any]:
    made = as_mapping(call)
    arguments = dict(as_mapping(made.get("arguments")))
    return {"name": str(made.get("name")), "arguments": arguments, "result": results.get(str(made.get("id")))}


class _Criteria:
    """The evaluation criteria of a task. Only what is in the reward basis could fail it."""

    def __init__(self, builder: ScenarioBuilder, criteria: Mapping[str, Any]) -> None:
        self._builder = builder
        self._criteria = criteria
        basis = criteria.get("reward_basis")
        self._basis = {str(one).upper() for one in basis} if isinstance(basis, list) else set(_DEFAULT_BASIS)

    def take(self) -> None:
        for key in _CRITERIA_KEYS & self._criteria.keys():
            if is_no_list(self._criteria[key]):
                self._builder.lost(self._loc(key), "unknown form", f"`{key}` isn't a list")
        for key in self._criteria.keys() - _CRITERIA_KEYS:
            if self._criteria[key] not in (None, [], {}):
                self._builder.left_out(
                    self._loc(key), "unknown key", f"`{key}` isn't a known key of criteria"
                )
        if not self._criteria:
            self._builder.left_out(
                (), "no criteria", "the task has no `evaluation_criteria`: nothing was checked"
            )
            return
        self._actions()
        self._communicate()
        self._assertions()
        self._environment()
        for name in sorted(self._basis - {"DB", "COMMUNICATE", "ACTION", "NL_ASSERTION", "ENV_ASSERTION"}):
            self._builder.lost(
                self._loc("reward_basis"), "unknown reward", f"{quoted(name)} isn't a known reward"
            )

    def _loc(self, *below: str | int) -> Loc:
        return ("evaluation_criteria", *below)

    def _actions(self) -> None:
        actions = [as_mapping(one) for one in as_items(self._criteria.get("actions"))]
        if actions:
            self._builder.metadata["reference_actions"] = [dict(one) for one in actions]
        if "ACTION" in self._basis:
            for index, one in enumerate(actions):
                self._action(one, self._loc("actions", index))
        elif actions and "DB" not in self._basis:
            why = "the calls were only reported, and could not fail the task (`reward_basis`)"
            self._builder.left_out(self._loc("actions"), "reported actions", why)
        if "DB" in self._basis:
            ours = [one for one in actions if one.get("requestor", "assistant") == "assistant"]
            self._end_state(ours)
            if len(ours) < len(actions):
                why = "the user's side has a state too, and the synthetic user has no tools"
                self._builder.lost(self._loc("reward_basis"), "end state of the user's side", why)

    def _action(self, action: Mapping[str, Any], loc: Loc) -> None:
        """A call that has to be made; `compare_args` are the arguments that count."""
        name, args = action.get("name"), as_mapping(action.get("arguments"))
        if action.get("requestor", "assistant") != "assistant":
            self._builder.lost(loc, "action of the user", "the synthetic user has no tools")
        elif not is_tool_name(name):
            self._builder.lost(loc, "action", "it has no name that a tool can have")
        else:
            compared = action.get("compare_args")
            wanted = (
                args if compared is None else {key: args[key] for key in args if key in as_items(compared)}
            )
            self._builder.tools(tool_call_criteria=[some_call(str(name), wanted)])
            if compared is None and args:
                self._builder.changed(loc, "action: other arguments", OTHER_ARGUMENTS)
            else:
                self._builder.taken()

    def _end_state(self, actions: list[Mapping[str, Any]]) -> None:
        """The end state of the database can't be seen; the judge looks at the calls instead."""
        if actions:
            shown = "; ".join(_shown(one) for one in actions)
            sentence = (
                "By the end, the agent has made all changes to data that these calls make, and no others "
                f"(calls that only look something up don't matter): {shown}"
            )
        else:
            sentence = "The agent makes no call that creates, changes, cancels or deletes anything"
        self._builder.must(sentence)
        why = "the end state of the database was compared; now the judge looks at the agent's calls"
        advice = f"{OWN_CHECK}; `metadata.reference_actions` has the calls that lead to the right state"
        self._builder.changed(self._loc("reward_basis"), "end state (DB)", why, advice)

    def _communicate(self) -> None:
        counts = "COMMUNICATE" in self._basis
        for index, text in enumerate(as_items(self._criteria.get("communicate_info"))):
            loc = self._loc("communicate_info", index)
            if not isinstance(text, str) or not text.strip():
                self._builder.lost(loc, "communicate_info", "it isn't a text")
            elif not counts:
                why = "what was to be said was only reported, and could not fail the task (`reward_basis`)"
                self._builder.left_out(loc, "reported communicate_info", why)
            else:
                self._builder.reply(**_said(text.strip()), ignore_case=True, turn="any")
                self._builder.taken()

    def _assertions(self) -> None:
        for index, text in enumerate(as_items(self._criteria.get("nl_assertions"))):
            loc = self._loc("nl_assertions", index)
            if not isinstance(text, str) or not text.strip():
                self._builder.lost(loc, "nl_assertion", "it isn't a text")
                continue
            self._builder.must(text)
            if "NL_ASSERTION" in self._basis:
                self._builder.taken()
            else:
                why = "it was only reported (`reward_basis`); now it has to hold"
                self._builder.changed(loc, "reported nl_assertion", why)

    def _environment(self) -> None:
        for index, one in enumerate(as_items(self._criteria.get("env_assertions"))):
            loc, name = self._loc("env_assertions", index), quoted(str(as_mapping(one).get("func_name")))
            if "ENV_ASSERTION" in self._basis:
                why = f"{name} is a function of the environment, which isn't called here"
                advice = f"{OWN_CHECK}: it sees the end state of the target"
                self._builder.lost(loc, "env_assertion", why, advice)
            else:
                self._builder.left_out(
                    loc, "reported env_assertion", "it could not fail the task (`reward_basis`)"
                )


def _shown(action: Mapping[str, Any]) -> str:
    args = as_mapping(action.get("arguments"))
    given = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in args.items())
    return f"{action.get('name')}({given})"


def _said(text: str) -> dict[str, str]:
    """A text that has to be said. τ²-bench doesn't mind commas in numbers."""
    if not _NUMBER.search(text):
        return {"contains": text}
    plain = re.sub(r"(?<=\d),(?=\d)", "", text)
    return {"matches": re.sub(r"(?<=\d)(?=\d)", ",?", re.escape(plain))}
