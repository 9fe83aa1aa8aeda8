"""What the user says in a test of promptfoo: a prompt with its values, or a simulated user's instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..building import ScenarioBuilder, quoted
from ..options import ImportOptions
from .merging import WholeTest
from .prompts import PromptTemplate
from .templates import is_one_variable, names_in, render

_TURNS = 10


def say(
    builder: ScenarioBuilder,
    test: WholeTest,
    values: Mapping[str, Any],
    prompt: PromptTemplate,
    user: Mapping[str, Any] | None,
    options: ImportOptions,
) -> None:
    """Fill in the user's side of a scenario, or refuse the test."""
    if user is not None:
        _simulate(builder, values, user, options)
    elif prompt.fault:
        builder.refuse(
            f"{prompt.fault}; say with --message what the user writes: --message '{{{{question}}}}'"
        )
    else:
        _send(builder, test, values, prompt, options)


def _send(
    builder: ScenarioBuilder,
    test: WholeTest,
    values: Mapping[str, Any],
    prompt: PromptTemplate,
    options: ImportOptions,
) -> None:
    used = names_in(prompt.text)
    for name in used:
        if name in test.faults:
            builder.refuse(test.faults[name])
    for name in test.faults.keys() - set(used):
        builder.left_out(("vars", name), "a value that isn't read", test.faults[name])
    if prompt.chat:
        _chat(builder, values, prompt)
    else:
        text = _rendered(builder, prompt.text, values)
        builder.initial_query = f"{test.options.get('prefix', '')}{text}{test.options.get('suffix', '')}"
        if not is_one_variable(prompt.text) and not options.message:
            builder.left_out(
                (),
                "words of a prompt",
                f"the words of the prompt {quoted(prompt.text)} are sent as a part of the user's message",
                "if they are the agent's instructions, give them to the target, and import with "
                "--message '{{question}}'",
            )
    builder.persona = "A user who sends one message."


def _rendered(builder: ScenarioBuilder, template: str, values: Mapping[str, Any]) -> str:
    """The text as promptfoo sends it: what has no value is left empty there."""
    rendered = render(template, values, "")
    if rendered.logic or any(name.split(".")[0] == "env" for name in rendered.missing):
        builder.refuse(rendered.fault)
    for name in rendered.missing:
        builder.left_out(
            ("vars",), "variable without a value", f"nothing gives `{name}` a value; it is left empty"
        )
    return rendered.text


def _chat(builder: ScenarioBuilder, values: Mapping[str, Any], prompt: PromptTemplate) -> None:
    """The last message is the user's; what was said before it is the history."""
    messages = [(str(one.get("role")), _rendered(builder, _content(one), values)) for one in prompt.chat]
    if any(role in ("system", "developer") for role, _ in messages):
        why = "the system prompt belongs to the target, whose own is used"
        builder.left_out((), "system prompt", why, "compare it with that of the target")
    said = [(role, text) for role, text in messages if role in ("user", "assistant") and text.strip()]
    if not said or said[-1][0] != "user":
        builder.refuse("its prompt doesn't end with a message of the user")
        return
    builder.initial_query = said[-1][1]
    builder.history = [{"agent" if role == "assistant" else "user": text} for role, text in said[:-1]]


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _simulate(
    builder: ScenarioBuilder, values: Mapping[str, Any], user: Mapping[str, Any], options: ImportOptions
) -> None:
    template = str(user.get("instructions") or "{{instructions}}")
    builder.persona = _rendered(builder, template, values)
    turns = user.get("maxTurns", _TURNS)
    builder.max_turns = turns if isinstance(turns, int) and not isinstance(turns, bool) else _TURNS
    builder.history = list(_earlier(user.get("initialMessages"), values, builder))
    builder.begin_unknown(options)
    for key in user.keys() - {"instructions", "maxTurns", "initialMessages"}:
        builder.left_out(("provider", "config", key), f"`{key}` of a simulated user", "it has no counterpart")


def _earlier(messages: Any, values: Mapping[str, Any], builder: ScenarioBuilder) -> Iterator[dict[str, Any]]:
    if isinstance(messages, str):
        builder.left_out(
            ("provider", "config", "initialMessages"), "earlier messages in a file", "it isn't read"
        )
    for one in messages if isinstance(messages, list) else ():
        if isinstance(one, Mapping) and (text := _rendered(builder, _content(one), values)).strip():
            yield {"agent" if one.get("role") == "assistant" else "user": text}
