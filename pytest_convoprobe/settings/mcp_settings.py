"""The settings of an MCP server whose tools a model gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from .field_types import Seconds, Text, WebAddress
from .model_settings import Section
from .secret_places import PUBLIC_FIELDS

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
_OF_A_PROCESS = ("args", "env", "cwd")
_OF_AN_ADDRESS = ("headers",)


def _as_text(value: Any) -> Any:
    """A bare number or `true` of YAML as the text that it is in an environment."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


_Value = Annotated[SecretStr, BeforeValidator(_as_text, json_schema_input_type=str | int | float | bool)]


class McpServer(Section):
    """One MCP server: a process that is started with `command`, or a service at `url`."""

    shown_fields = PUBLIC_FIELDS | {"allow", "deny", "lifetime", "elicitation", "sampling"}

    command: Text | None = Field(
        None, description="Program that is started, and spoken to over its standard input and output."
    )
    args: tuple[str, ...] = Field(
        (), description="Arguments of the program. Without them, `command` may be a whole command line."
    )
    env: dict[str, _Value] = Field(
        default_factory=dict,
        description="Variables of the program's environment, beside `PATH`, `HOME` and the like. It gets no "
        "other variables of ours.",
    )
    cwd: Text | None = Field(
        None, description="Folder in which the program runs, relative to the root. If unset, the root."
    )
    url: WebAddress | None = Field(None, description="Address of a server that speaks streamable HTTP.")
    headers: dict[str, _Value] = Field(default_factory=dict, description="HTTP headers of each request.")
    allow: tuple[Text, ...] | None = Field(
        None, description="Names or patterns of the tools that the model gets. If unset, all of them."
    )
    deny: tuple[Text, ...] = Field(
        (), description="Names or patterns of the tools that it doesn't get, whatever `allow` says."
    )
    prefix: bool | None = Field(
        None,
        description="Whether tools are called `SERVER__TOOL`. If unset, those whose name another server or a "
        "function has too.",
    )
    lifetime: Literal["conversation", "session"] | None = Field(
        None,
        description="Whether each conversation has its own connection, and its own process, or all of a "
        "session share one. If unset, `conversation` for a `command` and `session` for a `url`.",
    )
    start_timeout: Seconds = Field(30.0, description="Limit of starting, until the tools are listed.")
    timeout: Seconds = Field(60.0, description="Limit of one call; what takes longer is the tool's error.")
    elicitation: Literal["decline", "cancel"] | dict[str, Any] = Field(
        "decline",
        description="The answer if the server asks the user something: `decline`, `cancel`, or a mapping "
        "with the values of the form.",
    )
    sampling: Literal["decline", "model"] = Field(
        "decline",
        description="The answer if the server asks for a text of a model: `decline`, or `model`, which lets "
        "the target's own model write it.",
    )

    @property
    def lives(self) -> Literal["conversation", "session"]:
        """How long a connection is kept."""
        # A program that was started for somebody remembers them; a service has to part its users anyway.
        return self.lifetime or ("conversation" if self.command else "session")

    @property
    def identity(self) -> dict[str, Any]:
        """What the answers of a model with its tools depend on, without secrets."""
        names = ("command", "args", "cwd", "url", "allow", "deny", "prefix")
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value not in (None, ())}

    @model_validator(mode="after")
    def _one_kind(self) -> McpServer:
        if (self.command is None) == (self.url is None):
            raise ValueError("give a `command` that starts the server, or the `url` of one, and not both")
        wrong = _OF_AN_ADDRESS if self.command else _OF_A_PROCESS
        for name in wrong:
            if getattr(self, name):
                raise ValueError(f"`{name}` goes with `{'url' if self.command else 'command'}` only")
        if self.sampling == "model" and self.lives == "session":
            raise ValueError("`sampling: model` needs `lifetime: conversation`: its calls belong to one")
        return self


def server_from_text(value: Any) -> Any:
    """A text alone is a server's address or its command line."""
    if not isinstance(value, str) or not value:
        return value
    return {"url" if value.startswith(("http://", "https://")) else "command": value}


def _servers(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: server_from_text(one) for name, one in value.items()}


def _named(value: Any) -> Any:
    # It may become a part of the names of tools, in which providers allow no other characters.
    if isinstance(value, str) and not _NAME.fullmatch(value):
        raise ValueError("a server's name has letters, digits, `_` and `-` only, and at most 32 of them")
    return value


_Name = Annotated[str, BeforeValidator(_named)]
McpServers = Annotated[dict[_Name, McpServer], BeforeValidator(_servers)]
