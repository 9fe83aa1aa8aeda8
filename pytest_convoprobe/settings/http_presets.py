"""Kinds of HTTP services, each with the settings of a target that talks with it.

The paths and bodies are those of the services themselves; a comment says what isn't obvious in them. Settings
of a user take precedence over those of a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MERGED = ("body", "headers", "carry", "start")
FROM_BOTH = (*_MERGED, "url", "stream")
"""Keys whose value is made of what the preset gives and what the user sets."""
_ID = "{{ conversation_id }}-{{ history | length }}"
"""An id for one request: services refuse a message whose id they have seen."""


@dataclass(frozen=True)
class Preset:
    """The settings of a kind of service.

    `path` follows the base address. `{base}` in an address is replaced by it. `streamed` are the settings
    that differ if the answer is a stream; None if it can't be one, or is always.
    """

    settings: Mapping[str, Any]
    path: str = ""
    streamed: Mapping[str, Any] | None = None
    streamed_path: str = ""


_OPENAI_CHAT = Preset(
    path="/chat/completions",
    settings={
        "body": {"messages": "{{ messages }}"},
        # The content is null beside tool calls, and where the model refuses.
        "text": "choices[0].message | content || refusal || (@ && '')",
        "tool_calls": "choices[:1].message",
        "tool_calls_optional": True,
        "usage": "usage",
        "error": "error",
    },
    streamed={
        "stream": {"format": "sse", "done": "data == '[DONE]'"},
        "body": {"messages": "{{ messages }}", "stream": True, "stream_options": {"include_usage": True}},
        "text": "choices[0].delta | content || refusal || content",
        "tool_calls": "choices[0].delta.tool_calls",
    },
)

_RESPONSE_ENDS = "type == 'response.completed' || type == 'response.incomplete'"
_OPENAI_RESPONSES = Preset(
    path="/responses",
    settings={
        "body": {"input": "{{ message }}", "previous_response_id": "{{ session.response_id }}"},
        "carry": {"response_id": "id"},
        "text": "output",
        "tool_calls": "output",
        "tool_calls_optional": True,
        "usage": "usage",
        "error": "error",
    },
    streamed={
        "stream": {
            "format": "sse",
            "answer": f"({_RESPONSE_ENDS}) && response",
            "done": f"{_RESPONSE_ENDS} || type == 'response.failed'",
        },
        "body": {
            "input": "{{ message }}",
            "previous_response_id": "{{ session.response_id }}",
            "stream": True,
        },
        "error": "(type == 'error' && (message || error)) || (type == 'response.failed' && response.error)",
    },
)

# An interrupted graph waits for `command`, and would begin again with an `input`. What is none is left out.
_LANGGRAPH_BODY = {
    "assistant_id": "agent",
    "input": "{{ none if session.interrupt is defined else "
    "{'messages': [{'role': 'user', 'content': message}]} }}",
    "command": "{{ {'resume': message} if session.interrupt is defined else none }}",
}
_LANGGRAPH = Preset(
    path="/threads/{{ session.thread_id }}/runs/wait",
    settings={
        "start": {"url": "{base}/threads", "body": {}, "keep": {"thread_id": "thread_id"}},
        "body": _LANGGRAPH_BODY,
        # `false` makes `session` forget the value.
        "carry": {"interrupt": "__interrupt__[0].id || __interrupt__[0] || `false`"},
        "text": "(__interrupt__ && to_string(__interrupt__[0].value)) || messages",
        "tool_calls": "messages",
        "usage": "messages",
        "error": "__error__",
        "history_in_answer": True,
    },
    streamed_path="/threads/{{ session.thread_id }}/runs/stream",
    streamed={
        "stream": {"format": "sse", "answer": "event == 'values' && @"},
        "body": {**_LANGGRAPH_BODY, "stream_mode": ["values"]},
        "error": "event == 'error' && (message || error || data)",
    },
)

_LANGSERVE_BODY = {
    "input": {"input": "{{ message }}"},
    "config": {"configurable": {"session_id": "{{ conversation_id }}"}},
}
_LANGSERVE = Preset(
    path="/invoke",
    settings={"body": _LANGSERVE_BODY, "text": "output.content || output.output || output"},
    streamed_path="/stream",
    streamed={
        "stream": {"format": "sse", "done": "event == 'end'"},
        "text": "event == 'data' && (content || output || data)",
        "error": "event == 'error' && (message || data)",
    },
)


def _task_error(task: str, failed: str, going_on: tuple[str, str]) -> str:
    """The path of an error in A2A: one of JSON-RPC, a task that failed, or one that isn't over yet."""
    state = f"{task}.status.state"
    unfinished = " || ".join(f"{state} == '{one}'" for one in going_on)
    return (
        f"error || ({state} == '{failed}' && ({task}.status.message.parts[0].text || 'the task failed')) "
        f"|| (({unfinished}) && 'the answer came before the task was over')"
    )


_ASKS = "status.state == 'input-required' || status.state == 'auth-required'"
_A2A = Preset(
    settings={
        "body": {
            "jsonrpc": "2.0",
            "id": _ID,
            "method": "message/send",
            "params": {
                "message": {
                    "kind": "message",
                    "role": "user",
                    "messageId": _ID,
                    "parts": [{"kind": "text", "text": "{{ message }}"}],
                    "contextId": "{{ session.context_id }}",
                    "taskId": "{{ session.task_id }}",
                }
            },
        },
        # A task that asks for something goes on with the next message; one that is over can't.
        "carry": {
            "context_id": "result.contextId",
            "task_id": f"result | (({_ASKS}) && id) || `false`",
        },
        "text": f"result | (({_ASKS}) && status.message.parts[].text) "
        "|| [artifacts[].parts[].text, status.message.parts[].text, parts[].text][] | []",
        "error": _task_error("result", "failed", ("submitted", "working")),
    },
)

_ASKS_V1 = "status.state == 'TASK_STATE_INPUT_REQUIRED' || status.state == 'TASK_STATE_AUTH_REQUIRED'"
_A2A_V1 = Preset(
    settings={
        "headers": {"A2A-Version": "1.0"},
        "body": {
            "jsonrpc": "2.0",
            "id": _ID,
            "method": "SendMessage",
            "params": {
                "message": {
                    "role": "ROLE_USER",
                    "messageId": _ID,
                    "parts": [{"text": "{{ message }}"}],
                    "contextId": "{{ session.context_id }}",
                    "taskId": "{{ session.task_id }}",
                }
            },
        },
        "carry": {
            "context_id": "result.task.contextId || result.message.contextId",
            "task_id": f"result.task | (({_ASKS_V1}) && id) || `false`",
        },
        "text": f"(result.task | ({_ASKS_V1}) && status.message.parts[].text) "
        "|| [result.task.artifacts[].parts[].text, result.task.status.message.parts[].text, "
        "result.message.parts[].text][] | []",
        "error": _task_error(
            "result.task", "TASK_STATE_FAILED", ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
        ),
    },
)

_AGUI = Preset(
    settings={
        "stream": {"format": "sse", "done": "type == 'RUN_FINISHED'"},
        "body": {
            "threadId": "{{ conversation_id }}",
            "runId": _ID,
            "messages": "{{ messages | with_ids(conversation_id) }}",
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        },
        "text": "(type == 'TEXT_MESSAGE_CONTENT' || type == 'TEXT_MESSAGE_CHUNK') "
        "&& delta && {id: messageId, text: delta}",
        "tool_calls": "(type == 'TOOL_CALL_START' && {id: toolCallId, name: toolCallName}) "
        "|| (type == 'TOOL_CALL_ARGS' && {id: toolCallId, arguments: delta}) "
        "|| (type == 'TOOL_CALL_CHUNK' && {id: toolCallId, name: toolCallName, arguments: delta}) "
        # The arguments are complete: without any piece there are none.
        "|| (type == 'TOOL_CALL_END' && {id: toolCallId, arguments: ''}) "
        "|| (type == 'TOOL_CALL_RESULT' && {id: toolCallId, result: content})",
        "tool_calls_optional": True,
        "error": "type == 'RUN_ERROR' && (message || code || type)",
    },
)

_VERCEL_AI = Preset(
    settings={
        "stream": {"format": "sse", "done": "data == '[DONE]'"},
        "body": {
            "id": "{{ conversation_id }}",
            "messages": "{{ messages | as_parts | with_ids(conversation_id) }}",
            "trigger": "submit-message",
        },
        "text": "type == 'text-delta' && {id: id, text: delta}",
        "tool_calls": "(type == 'tool-input-start' && {id: toolCallId, name: toolName}) "
        "|| (type == 'tool-input-delta' && {id: toolCallId, arguments: inputTextDelta}) "
        "|| (type == 'tool-input-available' && {id: toolCallId, name: toolName, arguments: input}) "
        "|| (type == 'tool-input-error' "
        "&& {id: toolCallId, name: toolName, arguments: input, error: errorText}) "
        # Whoever waits for an approval hasn't carried it out.
        "|| (type == 'tool-approval-request' && {id: toolCallId, executed: `false`}) "
        "|| (type == 'tool-output-available' && {id: toolCallId, result: output, executed: `true`}) "
        "|| (type == 'tool-output-error' && {id: toolCallId, error: errorText}) "
        "|| (type == 'tool-output-denied' && {id: toolCallId, executed: `false`})",
        "tool_calls_optional": True,
        "error": "(type == 'error' && (errorText || type)) || (type == 'abort' && type)",
    },
)

PRESETS: dict[str, Preset] = {
    "openai-chat": _OPENAI_CHAT,
    "openai-responses": _OPENAI_RESPONSES,
    "langgraph": _LANGGRAPH,
    "langserve": _LANGSERVE,
    "a2a": _A2A,
    "a2a-v1": _A2A_V1,
    "agui": _AGUI,
    "vercel-ai": _VERCEL_AI,
}
"""The presets by their names."""


def require_stream(name: str, given: str) -> None:
    """Raise `ValueError` if services of this kind have no stream in the format that is `given`."""
    preset = PRESETS[name]
    known = (preset.streamed or preset.settings).get("stream")
    if known is None:
        raise ValueError(f"the preset `{name}` has no stream: leave `stream` out")
    if known["format"] != given:
        raise ValueError(f"the preset `{name}` streams `{known['format']}`")


def with_preset(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """The settings of a target with those that its preset gives."""
    preset = PRESETS[values["preset"]]
    streams = _streams(values.get("stream"))
    given = {key: value for key, value in values.items() if value is not None}
    below = {**preset.settings, **((preset.streamed or {}) if streams else {})}
    if isinstance(url := given.get("url"), str):
        base = _base(url, preset)
        below = {key: _with_base(value, base) for key, value in below.items()}
        given["url"] = _whole_address(url, base, preset, streams)
    if streams:
        given["stream"] = _merged(below.get("stream"), _as_mapping(given["stream"]))
    merged = {key: _merged(below.get(key), given.get(key)) for key in _MERGED}
    known = {**below, **given, **merged}
    return {key: value for key, value in known.items() if value is not None}


def _streams(value: Any) -> bool:
    return value not in (None, False, "none")


def _as_mapping(value: Any) -> Any:
    return {"format": value} if isinstance(value, str) else value


def _merged(below: Any, given: Any) -> Any:
    """Mappings key by key, with what was given on top; null leaves a key out. Anything else replaces."""
    if given is None:
        return below
    if not (isinstance(below, Mapping) and isinstance(given, Mapping)):
        return given
    both = {**below, **{key: _merged(below.get(key), value) for key, value in given.items()}}
    return {key: value for key, value in both.items() if not (key in given and given[key] is None)}


def _base(url: str, preset: Preset) -> str:
    """The address without its query, and without a path that the preset adds anyway."""
    bare = url.partition("?")[0].rstrip("/")
    for path in filter(None, (preset.path, preset.streamed_path)):
        bare = bare.removesuffix(path)
    return bare


def _whole_address(url: str, base: str, preset: Preset, streams: bool) -> str:
    path = (preset.streamed_path or preset.path) if streams else preset.path
    _, mark, query = url.partition("?")
    return f"{base}{path}{mark}{query}" if path else url


def _with_base(value: Any, base: str) -> Any:
    if isinstance(value, str):
        return value.replace("{base}", base)
    if isinstance(value, Mapping):
        return {key: _with_base(item, base) for key, item in value.items()}
    return value
