"""What a live call cannot do without."""

from __future__ import annotations

from ..errors import Problem, SettingsError
from .models import ModelSettings

_ADVICE = """\
    llm:
      model: openai/gpt-4o-mini      # any LiteLLM model string
      api_key: ${{OPENAI_API_KEY}}
{options}With --convoprobe-replay=only nothing is called, and no model is needed."""

# None of them changes what is tested.
_OPTIONS = {
    "judge": "or for this run with --convoprobe-model or --convoprobe-judge-model.\n",
    "synthetic_user": "or for this run with --convoprobe-model or --convoprobe-user-model.\n",
}


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
    return Problem(
        f"no model is set for the {role.replace('_', ' ')}, and a live call needs one. "
        "Set it in convoprobe.yaml:",
        advice=_ADVICE.format(options=_OPTIONS.get(role, "")),
    )
