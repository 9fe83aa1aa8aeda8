"""What a live call cannot do without."""

from __future__ import annotations

from ..errors import Problem, SettingsError
from .model_settings import ModelSettings

_ADVICE = """\
    llm:
      model: openai/gpt-4o-mini      # any LiteLLM model string
      api_key: ${OPENAI_API_KEY}
With `run.replay: only` nothing is called, and no model is needed."""

# The target is not among them: a model that is named for one run must not change what is tested.
_OUR_ROLES = ("judge", "synthetic_user")


def require_model(settings: ModelSettings, role: str) -> str:
    """The model's name. Raises `SettingsError` when a live call cannot be made for what the settings lack.

    `role` is `judge`, `synthetic_user` or `target`; an enum of such values will do.
    """
    name = str(getattr(role, "value", role))
    if settings.model is None:
        raise SettingsError((_no_model(name),))
    if settings.unresolved:
        raise SettingsError(tuple(Problem(message) for message in settings.unresolved.values()))
    return settings.model


def _no_model(role: str) -> Problem:
    model = (f"{role}.model",) if role in _OUR_ROLES else ()
    return Problem(
        f"no model is set for the {role.replace('_', ' ')}, and a live call needs one. "
        "Set it in convoprobe.yaml:",
        advice=_ADVICE,
        remedies=(*model, "run.replay=only"),
    )
