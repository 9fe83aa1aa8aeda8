"""Fingerprints: what an outcome rests on, so that a change of it has a name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..llm.fingerprint import Fingerprint
    from ..redaction import Redactor
    from ..scenario.models import Scenario
    from ..settings.models import ModelSettings, ScenarioSettings
    from ..targets.port import Description

_WORDS = {
    "scenario": "scenario",
    "prompts": "prompts",
    "target_prompt": "target's system prompt",
    "target_tools": "target's tools",
}
# What neither the conversation nor the verdict depends on.
_NOT_CONTENT = {"name", "tags", "skip", "metadata"}


@dataclass(frozen=True, slots=True)
class Prints:
    """Hex digests of what a trial was made of; None where the target doesn't report it.

    `scenario` is of what the scenario says, wherever the file is; `prompts` of our own prompts and of
    the settings of the judge and the synthetic user; `target_prompt` and `target_tools` of the
    target's system prompt and the schemas of its tools.
    """

    scenario: str | None = None
    prompts: str | None = None
    target_prompt: str | None = None
    target_tools: str | None = None

    def to_json(self) -> dict[str, str | None]:
        """A plain dict."""
        return {name: getattr(self, name) for name in _NAMES}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Prints:
        """What `to_json` gave; keys of another version are ignored."""
        return cls(**{name: (data or {}).get(name) for name in _NAMES})


_NAMES = tuple(field.name for field in fields(Prints))
NO_PRINTS = Prints()


def changes(before: Prints, after: Prints) -> tuple[str, ...]:
    """What is different: "scenario", "prompts", "target's system prompt", "target's tools".

    What one of the two doesn't know isn't called a change.
    """
    if before is after:
        return ()
    pairs = [(words, getattr(before, name), getattr(after, name)) for name, words in _WORDS.items()]
    return tuple(words for words, old, new in pairs if old is not None and new is not None and old != new)


def take_prints(
    scenario: Scenario | None, settings: ScenarioSettings, target: Description, redactor: Redactor
) -> Prints:
    """The fingerprints of a trial. Secrets are taken out first, so a new key is not a change."""
    return Prints(
        scenario=_digest(_content(scenario)) if scenario else None,
        prompts=_digest([_own_prompts(), *_roles(settings, redactor)]),
        target_prompt=None if target.system_prompt is None else _digest(redactor.text(target.system_prompt)),
        target_tools=None if target.tools is None else _of_tools(target, redactor),
    )


def _content(scenario: Scenario) -> Any:
    """Fields that have their default are left out: a release that adds a field changes no fingerprint."""
    return scenario.model_dump(mode="json", exclude=_NOT_CONTENT, exclude_defaults=True)


@lru_cache(maxsize=1)
def _own_prompts() -> str:
    """The digest of every prompt of this package."""
    folder = files("pytest_convoprobe").joinpath("prompts")
    texts = {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".jinja")}
    return _digest(texts)


def _roles(settings: ScenarioSettings, redactor: Redactor) -> list[Any]:
    return [
        [_call(model, redactor).digest, redactor.text(model.extra_instructions or "")]
        for model in (settings.judge, settings.synthetic_user)
    ]


def _call(model: ModelSettings, redactor: Redactor, **parts: Any) -> Fingerprint:
    """The fingerprint that recordings know a call by, of a call without messages."""
    from ..llm.fingerprint import Fingerprints
    from ..llm.port import CallContext, LLMRequest, Role

    return Fingerprints(redactor).of(LLMRequest(model, (), CallContext(Role.JUDGE), **parts))


def _of_tools(target: Description, redactor: Redactor) -> str:
    from ..settings.models import ModelSettings

    return _call(ModelSettings(), redactor, tools=target.tools).tools or _digest([])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
