"""What the loopback server says when a test does not tell it: good enough for whole pytest runs.

- Where JSON is asked for, by a schema in `response_format` or by an example in a prompt, such an object: a
  synthetic user that goes on, a judge whose answer to each criterion speaks for the agent.
- Where tools are offered and the last message says ``call TOOL {"argument": 1}``, that call.
- Otherwise a sentence that names the number of the turn and repeats the last message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_GOOD_WORDS = ("continue", "met", "not_triggered", "stop", "none")
_ASIDES = (
    "Could you tell me a little more about that?",
    "I see. What would be the next step?",
    "And how long is that going to take?",
    "Does it cost anything?",
    "What do you need from me?",
    "Is there another way to do it?",
)


def default_answer(body: Mapping[str, Any]) -> str | list[tuple[str, str]]:
    """Text, or the tool calls to make as pairs of a name and JSON text."""
    messages = body.get("messages", [])
    last = str(messages[-1].get("content") or "") if messages else ""
    asked = re.search(r"call (\w+) (\{.*\})", last)
    if body.get("tools") and asked:
        return [(asked[1], asked[2])]
    prompt = _Prompt(messages)
    schema = _schema(body)
    if schema is not None:
        return json.dumps(_of_schema(schema, prompt, schema))
    example = _example(messages)
    if example is not None:
        return json.dumps(_like(example, prompt))
    turn = sum(message.get("role") == "user" for message in messages)
    return f"Answer {turn} to: {last[:200]}"


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    schema = wanted.get("schema")
    return schema if isinstance(schema, Mapping) else None


def _example(messages: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The last line that is a JSON object: of the last prompt, or of the system prompt."""
    system = messages[:1] if messages and messages[0].get("role") == "system" else []
    for message in (*messages[-1:], *system):
        for line in reversed(str(message.get("content") or "").splitlines()):
            if line.startswith("{") and line.endswith("}"):
                try:
                    return dict(json.loads(line))
                except ValueError:
                    continue
    return None


@dataclass
class _Prompt:
    """What the messages offer to fill an answer with; `criterion` is the one being answered."""

    messages: list[Mapping[str, Any]]
    criterion: str = ""

    @property
    def sentence(self) -> str:
        """Another one for each length of the conversation, so that nobody seems to repeat himself."""
        count = len(self.messages)
        return f"{_ASIDES[count // 2 % len(_ASIDES)]} ({count})"

    @property
    def first_reply(self) -> str | None:
        """The first line of the agent's first reply in a conversation that is to be judged."""
        replies = re.findall(r"^  agent:\n  \| (.*)$", self._text, re.MULTILINE)
        return replies[0] if replies else None

    @property
    def first_turn(self) -> int | None:
        turns = re.findall(r"^Turn (\d+)$", self._text, re.MULTILINE)
        return int(turns[0]) if turns else None

    @property
    def _text(self) -> str:
        return "\n".join(str(message.get("content") or "") for message in self.messages)

    def about(self, name: str) -> _Prompt:
        """For the value under this key: below the id of a criterion, that criterion is answered."""
        return _Prompt(self.messages, name) if re.fullmatch(r"[cft]\d+", name) else self


def _known(name: str, prompt: _Prompt) -> dict[str, Any]:
    """The values of fields whose meaning is known here, or nothing."""
    if not prompt.criterion:
        return {}
    verdict = "not_triggered" if prompt.criterion.startswith("f") else "met"
    quote = prompt.first_reply
    fields = {"verdict": verdict, "absence": quote is None, "quote": quote, "turn": prompt.first_turn}
    return {name: fields[name]} if name in fields else {}


def _of_schema(schema: Mapping[str, Any], prompt: _Prompt, root: Mapping[str, Any]) -> Any:
    """A value that is valid for `schema` (the subset that pydantic writes for replies)."""
    if "$ref" in schema:
        return _of_schema(_resolve(schema["$ref"], root), prompt, root)
    for combination in ("anyOf", "oneOf", "allOf"):
        if combination in schema:
            options = schema[combination]
            null = any(option.get("type") == "null" for option in options)
            return None if null else _of_schema(options[0], prompt, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return next((word for word in _GOOD_WORDS if word in schema["enum"]), schema["enum"][0])
    return _of_type(schema, prompt, root)


def _resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return node  # type: ignore[no-any-return]


def _of_type(schema: Mapping[str, Any], prompt: _Prompt, root: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {
            name: _known(name, prompt).get(name, _of_schema(part, prompt.about(name), root))
            for name, part in properties.items()
        }
    if kind == "array":
        return _array(schema, prompt, root)
    simple: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "null": None}
    return simple.get(kind, prompt.sentence)


def _array(schema: Mapping[str, Any], prompt: _Prompt, root: Mapping[str, Any]) -> list[Any]:
    items = schema.get("items") or schema.get("prefixItems", [{}])[0]
    return [_of_schema(items, prompt, root)] * max(1, int(schema.get("minItems", 0)))


def _like(example: Any, prompt: _Prompt) -> Any:
    """An answer in the shape of the example: words from a list stay, dots are filled in."""
    if isinstance(example, list):
        return []  # what is an example here would be a finding there
    if isinstance(example, dict):
        return {
            name: _known(name, prompt).get(name, _like(part, prompt.about(name)))
            for name, part in example.items()
        }
    return prompt.sentence if isinstance(example, str) and example not in _GOOD_WORDS else example
