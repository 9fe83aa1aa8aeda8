"""The settings of a target behind HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from .field_types import Seconds, Text, WebAddress
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


class HttpTarget(TargetSection):
    """An HTTP service. `url`, `headers` and `body` are templates; `text` and the like are JMESPath."""

    name_field = "url"
    answer_fields = ("url", "method", "body", "text", "tool_calls", "ended")

    type: Literal["http"] = Field("http", description="`http`.")
    url: Text = Field(description="Address for each message; a template.")
    method: Text = Field("POST", description="HTTP method.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Headers; values are templates.")
    body: Any = Field(
        None,
        description="The request's body: a text, or data with texts. All texts are templates with `message`, "
        "`history`, `messages`, `conversation_id`, `now` and `today`.",
    )
    text: Text = Field("text", description="JMESPath of the reply's text.")
    tool_calls: Text | None = Field(None, description="JMESPath of the reply's tool calls.")
    tool_calls_optional: bool = Field(
        False,
        description="An answer without `tool_calls` means that no tool was called. Otherwise, checks of tool "
        "calls are errors then.",
    )
    usage: Text | None = Field(None, description="JMESPath of the token usage.")
    ended: Text | None = Field(
        None, description="JMESPath that is true if the agent has ended the conversation."
    )
    tools: tuple[Text, ...] | None = Field(None, description=TOOL_NAMES)
    version: Annotated[VersionSource, BeforeValidator(_version_source)] | None = Field(
        None,
        description="Where the service reports its version: a JMESPath, or a mapping with `path` or "
        "`header`, and `url` if it is asked elsewhere. A benchmark keys conversations by it.",
    )
    timeout: Seconds = Field(60.0, description="Limit of one request, in seconds.")

    def identified(self) -> bool:
        return self.version is not None

    def reports_version(self) -> bool:
        return self.version is not None
