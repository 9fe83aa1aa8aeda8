"""Fingerprints: what an outcome rests on, so that a change of it has a name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..llm.fingerprint import Fingerprint
    from ..redaction import Redactor
    from ..scenario.models import Scenario
    from ..settings.judge_settings import JudgeSettings
    from ..settings.model_settings import ModelSettings
    from ..settings.models import ScenarioSettings
    from ..targets.port import Description

_FAULTS = "target's faults"
_ROLES = {"judge": "judge's", "user": "synthetic user's"}
# What neither the conversation nor the verdict depends on.
_NOT_CONTENT = {"name", "tags", "skip", "gate"}
# How the judge's votes become a verdict. A call to its model shows nothing of it.
_VOTING = {"method", "threshold", "second_vote", "panel", "agreement"}


@dataclass(frozen=True, slots=True)
class Prints:
    """Hex digests of what a trial was made of; None where the target doesn't report it.

    `scenario` is of what the scenario says, wherever the file is; `prompts` of our own prompts and of
    the settings of the judge and the synthetic user; `target_prompt` and `target_tools` of the
    target's system prompt and the schemas of its tools. `target_faults` is of the faults that its settings
    name; None if there are none.

    The others are parts of `prompts`, so that a change of it has a name: `own_prompts` of our own prompts,
    `judge` and `user` of the settings of the two without their models, and the models' names. Earlier
    releases did not store them, so they don't take part in equality.
    """

    scenario: str | None = None
    prompts: str | None = None
    target_prompt: str | None = None
    target_tools: str | None = None
    own_prompts: str | None = field(default=None, compare=False)
    judge: str | None = field(default=None, compare=False)
    judge_model: str | None = field(default=None, compare=False)
    user: str | None = field(default=None, compare=False)
    user_model: str | None = field(default=None, compare=False)
    target_faults: str | None = None

    def to_json(self) -> dict[str, str | None]:
        """A plain dict."""
        return {name: getattr(self, name) for name in _NAMES if name not in _LATER or getattr(self, name)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Prints:
        """What `to_json` gave; keys of another version are ignored."""
        return cls(**{name: (data or {}).get(name) for name in _NAMES})


_NAMES = tuple(one.name for one in fields(Prints))
# Left out where they are not set, so that records look as those of earlier releases do.
_LATER = frozenset(("target_faults",))
NO_PRINTS = Prints()


ExplainTools = Callable[[str, str], str]
"""What is different between two sets of tools, given their fingerprints, to follow "target's tools"."""


def changes(before: Prints, after: Prints, explain: ExplainTools | None = None) -> tuple[str, ...]:
    """What is different: "scenario", "judge's model a → b", "prompts", "target's tools" and so on.

    What one of the two doesn't know isn't called a change.
    """
    if before is after:
        return ()
    return tuple(_changes(before, after, explain))


def _changes(before: Prints, after: Prints, explain: ExplainTools | None) -> Iterator[str]:
    if _differ(before.scenario, after.scenario):
        yield "scenario"
    if _differ(before.prompts, after.prompts):
        # What an earlier release stored doesn't say which part of it changed.
        yield from list(_changes_of_roles(before, after)) or ["prompts"]
    if _differ(before.target_prompt, after.target_prompt):
        yield "target's system prompt"
    old, new = before.target_tools, after.target_tools
    if old is not None and new is not None and old != new:
        yield f"target's tools{explain(old, new) if explain else ''}"
    if before.target_faults != after.target_faults:
        yield _FAULTS


def _changes_of_roles(before: Prints, after: Prints) -> Iterator[str]:
    if _differ(before.own_prompts, after.own_prompts):
        yield "prompts"
    for role, whose in _ROLES.items():
        old, new = getattr(before, f"{role}_model"), getattr(after, f"{role}_model")
        if _differ(old, new):
            yield from_to(f"{whose} model", old, new)
        if _differ(getattr(before, role), getattr(after, role)):
            yield f"{whose} settings"


def changed_inputs(before: Prints, now: Prints) -> tuple[str, ...]:
    """What a verdict rests on besides the target, and is different: "scenario", "judge's settings" and so on.

    The target is what a gate tests, so its prompt and tools don't count. Unlike in `changes`, what one of the
    two doesn't know is different too: two conversations are alike only where that is certain.
    """
    roles = (f"{whose} settings" for role, whose in _ROLES.items() if _unlike(before, now, role))
    models = (
        from_to(f"{whose} model", getattr(before, f"{role}_model"), getattr(now, f"{role}_model"))
        for role, whose in _ROLES.items()
        if getattr(before, f"{role}_model") != getattr(now, f"{role}_model")
    )
    own = ["scenario"] if _unlike(before, now, "scenario") else []
    # Unlike its prompt, the faults of a target are no part of what is tested.
    own += [_FAULTS] if before.target_faults != now.target_faults else []
    return (*own, *(["prompts"] if _unlike(before, now, "own_prompts") else []), *models, *roles)


def _unlike(before: Prints, now: Prints, name: str) -> bool:
    old, new = getattr(before, name), getattr(now, name)
    return old is None or old != new


def from_to(what: str, old: object, new: object) -> str:
    """`judge's model a → b`, the words for a change of which both sides can be named."""
    return f"{what} {old} → {new}"


def _differ(old: str | None, new: str | None) -> bool:
    return old is not None and new is not None and old != new


def take_prints(
    scenario: Scenario | None, settings: ScenarioSettings, target: Description, redactor: Redactor
) -> Prints:
    """The fingerprints of a trial. Secrets are taken out first, so a new key is not a change."""
    if scenario and not scenario.evaluation.asks_judge:
        from ..settings.judge_settings import JudgeSettings

        # Whoever it is, it isn't asked: another judge changes nothing.
        settings = settings.model_copy(update={"judge": JudgeSettings()})
    return Prints(
        scenario=_digest(_content(scenario)) if scenario else None,
        prompts=_digest([_own_prompts(), *_roles(settings, redactor)]),
        target_prompt=None if target.system_prompt is None else _digest(redactor.text(target.system_prompt)),
        target_tools=None if target.tools is None else _of_tools(target, redactor),
        own_prompts=_own_prompts(),
        judge=_without_model(settings.judge, redactor),
        judge_model=redactor.text(settings.judge.model or "") or None,
        user=_without_model(settings.synthetic_user, redactor),
        user_model=redactor.text(settings.synthetic_user.model or "") or None,
        target_faults=_of_faults(settings, redactor) if settings.faults else None,
    )


def _content(scenario: Scenario) -> Any:
    """Fields that have their default are left out: a release that adds a field changes no fingerprint."""
    return scenario.model_dump(mode="json", exclude=_NOT_CONTENT, exclude_defaults=True)


def judge_print(settings: JudgeSettings, redactor: Redactor) -> str:
    """The digest of all that a judge's answers depend on: its model, its settings and its prompts."""
    return _digest([_judge_prompts(), redactor.text(settings.model or ""), _role(settings, redactor)])


@lru_cache(maxsize=1)
def _judge_prompts() -> str:
    """The digest of the prompts that only the judge gets: others may change without calibrating it again."""
    return _digest({name: text for name, text in _prompt_texts().items() if name.startswith("judge")})


@lru_cache(maxsize=1)
def _own_prompts() -> str:
    """The digest of every prompt of this package."""
    return _digest(_prompt_texts())


def _prompt_texts() -> dict[str, str]:
    folder = files("pytest_convoprobe").joinpath("prompts")
    return {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".jinja")}


def _roles(settings: ScenarioSettings, redactor: Redactor) -> list[Any]:
    return [_role(model, redactor) for model in (settings.judge, settings.synthetic_user)]


def _role(model: ModelSettings, redactor: Redactor) -> list[Any]:
    """What a role's words depend on. Voting as by default is left out: it changes no fingerprint."""
    voting = model.model_dump(mode="json", include=_VOTING, exclude_defaults=True)
    own = [_call(model, redactor).digest, redactor.text(model.extra_instructions or "")]
    return [*own, redactor.data(voting)] if voting else own


def _without_model(model: ModelSettings, redactor: Redactor) -> str:
    """The digest of a role's settings, whichever model has the role."""
    plain = model.model_copy(update={"model": None})
    return _digest(_role(plain, redactor))


def _call(model: ModelSettings, redactor: Redactor, **parts: Any) -> Fingerprint:
    """The fingerprint that recordings know a call by, of a call without messages."""
    from ..llm.fingerprint import Fingerprints
    from ..llm.port import CallContext, LLMRequest, Role

    return Fingerprints(redactor).of(LLMRequest(model, (), CallContext(Role.JUDGE), **parts))


def _of_tools(target: Description, redactor: Redactor) -> str:
    from ..settings.model_settings import ModelSettings

    return _call(ModelSettings(), redactor, tools=target.tools).tools or _digest([])


def _of_faults(settings: ScenarioSettings, redactor: Redactor) -> str:
    rules = [rule.model_dump(mode="json", exclude_defaults=True) for rule in settings.faults]
    return _digest(redactor.data(rules))


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
