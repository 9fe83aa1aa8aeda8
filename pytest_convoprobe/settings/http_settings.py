"""The settings of a target behind HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from .field_types import Seconds, Text, WebAddress
from .http_presets import PRESETS, require_stream, with_preset
from .model_settings import Section
from .target_section import TOOL_NAMES, TargetSection


class VersionSource(Section):
    """Where an HTTP service reports its version: in each answer, or at an address of its own."""

    path: Text | None = Field(None, description="JMESPath of the version in a JSON answer.")
    header: Text | None = Field(None, description="Name of the response header with the version.")
    url: WebAddress | None = Field(
        None,
        description="Address that is asked for the version with GET. If unset, the first answer to a message "
        "has it.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> VersionSource:
        if self.path and self.header:
            raise ValueError("give `path` or `header`, not both")
        if not (self.path or self.header or self.url):
            raise ValueError("give a `path`, a `header`, or a `url`")
        return self


def _version_source(value: Any) -> Any:
    """A text alone is the path."""
    return {"path": value} if isinstance(value, str) and value else value


class SideRequest(Section):
    """A request beside those with messages: one that opens a session, or ends it."""

    url: Text = Field(description="Address, or a path on the same host, such as `/threads`; a template.")
    method: Text = Field("POST", description="HTTP method.")
    headers: dict[str, SecretStr] = Field(
        default_factory=dict, description="Headers beside those of the target; values are templates."
    )
    body: Any = Field(None, description="The request's body, as that of the target. If unset, none is sent.")


class StartRequest(SideRequest):
    """The request that is sent before the first message. Templates know what its answer says as `session`."""

    keep: dict[str, Text] = Field(
        default_factory=dict,
        description="Names in `session`, each with the JMESPath of its value in the answer. If unset, the "
        "keys of the answer.",
    )
    text: Text | None = Field(
        None,
        description="JMESPath of the agent's greeting in the answer, for scenarios with `first: agent`.",
    )


class StreamSettings(Section):
    """How the events of a stream become one reply."""

    shown_fields = frozenset(("format",))

    format: Literal["sse", "ndjson"] = Field(
        "sse", description="Server-sent events (`sse`), or a JSON value in each line (`ndjson`)."
    )
    answer: Text | None = Field(
        None,
        description="JMESPath of the whole answer in an event. If set, the last one that it finds is read as "
        "an answer without a stream is.",
    )
    done: Text | None = Field(
        None, description="JMESPath that is true in the last event. A stream that ends before it is an error."
    )


def _stream(value: Any) -> Any:
    """A word alone is the format; `none` is no stream."""
    if isinstance(value, str):
        return None if value == "none" else {"format": value}
    return None if value is False else value


class HttpTarget(TargetSection):
    """An HTTP service. `url`, `headers` and `body` are templates; `text` and the like are JMESPath."""

    name_field = "url"
    signs = ("preset",)
    answer_fields = (
        *("url", "method", "body", "text", "tool_calls", "ended"),
        *("stream", "start", "carry", "history_in_answer"),
    )

    type: Literal["http"] = Field("http", description="`http`.")
    preset: (
        Literal[
            "openai-chat", "openai-responses", "langgraph", "langserve", "a2a", "a2a-v1", "agui", "vercel-ai"
        ]
        | None
    ) = Field(
        None,
        description="A kind of service. It gives the other keys the values that such a service needs. What "
        "you set takes precedence; mappings such as `body` are merged, and null leaves a key of it out.",
    )
    url: Text = Field(
        description="Address for each message; a template. With a preset, the base address is enough."
    )
    method: Text = Field("POST", description="HTTP method.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Headers; values are templates.")
    body: Any = Field(
        None,
        description="The request's body: a text, or data with texts. All texts are templates with `message`, "
        "`history`, `messages`, `earlier`, `conversation_id`, `metadata`, `session`, `model_url`, `now` and "
        "`today`.",
    )
    stream: Annotated[StreamSettings | None, BeforeValidator(_stream)] = Field(
        None,
        description="The answer is a stream of events: `sse`, `ndjson`, or a mapping with `format`, `answer` "
        "and `done`. JMESPaths are then applied to each event.",
    )
    text: Text = Field("text", description="JMESPath of the reply's text.")
    tool_calls: Text | None = Field(
        None, description="JMESPath of the reply's tool calls, or of messages that contain them."
    )
    tool_calls_optional: bool = Field(
        False,
        description="An answer without `tool_calls` means that no tool was called. Otherwise, checks of tool "
        "calls are errors then.",
    )
    usage: Text | None = Field(
        None, description="JMESPath of the token usage, or of messages that contain it."
    )
    ended: Text | None = Field(
        None, description="JMESPath that is true if the agent has ended the conversation."
    )
    error: Text | None = Field(
        None,
        description="JMESPath of an error that the service reports in an answer with status 200, or in an "
        "event. If unset, a stream has one in an event named `error`, of `type` `error`, or with `error`.",
    )
    history_in_answer: bool = Field(
        False,
        description="Each answer contains the earlier turns too. Only tool calls that are new are counted.",
    )
    start: StartRequest | None = Field(
        None, description="A request before the first message, such as one that creates a thread."
    )
    carry: dict[str, Text] = Field(
        default_factory=dict,
        description="Names in `session`, each with the JMESPath of its value in the last answer, such as an "
        "id that the next request contains.",
    )
    finish: SideRequest | None = Field(
        None, description="A request at the end of each conversation. If it fails, a warning is logged."
    )
    tools: tuple[Text, ...] | None = Field(None, description=TOOL_NAMES)
    version: Annotated[VersionSource, BeforeValidator(_version_source)] | None = Field(
        None,
        description="Where the service reports its version: a JMESPath, or a mapping with `path` or "
        "`header`, and `url` if it is asked elsewhere. A benchmark keys conversations by it.",
    )
    timeout: Seconds = Field(
        60.0, description="Limit of one request, in seconds; of a stream, until it ends."
    )

    @model_validator(mode="before")
    @classmethod
    def _filled_by_preset(cls, values: Any) -> Any:
        known = isinstance(values, Mapping) and values.get("preset") in PRESETS
        return with_preset(values) if known else values

    @field_validator("stream")
    @classmethod
    def _fits_the_preset(cls, value: StreamSettings | None, info: ValidationInfo) -> StreamSettings | None:
        name = info.data.get("preset")
        if value is not None and name is not None:
            require_stream(name, value.format)
        return value

    def identified(self) -> bool:
        return self.version is not None

    def reports_version(self) -> bool:
        return self.version is not None
