"""What can be known to be wrong with a model before it is called: its provider, and its key.

Otherwise a judge's misspelt name shows after the whole conversation, when everything else is paid for.
"""

from __future__ import annotations

import sys
from functools import lru_cache

from ..errors import Problem, SettingsError
from ..project_code.agent_environment import own_variable
from ..settings.model_settings import ModelSettings
from ..settings.panel import members_of
from ..settings.providers import KEY_VARIABLES, PROVIDERS, provider_of
from ..settings.requirements import require_model
from ..suggest import did_you_mean
from .lanes import SERVERS, Lane, address_of, client_words, lane_of
from .litellm_import import imported


def check_model(settings: ModelSettings, role: str, key: str = "model") -> str:
    """The model's name. Raises `SettingsError` if a live call of it is certain to fail.

    `role` is `judge`, `synthetic_user` or `target`; an enum of such values will do. With a judge, the models
    of its panel are looked at too. `key` is the setting of the role that names the model. Nothing is called.
    LiteLLM is imported only for a name that begins with no provider in common use, and that isn't one of
    OpenAI's models.
    """
    model = require_model(settings, role)
    name = str(getattr(role, "value", role))
    for member in members_of(settings):
        words = complaint_on(member)
        if words:
            path = f"{name}.{key if member.model == model else 'panel'}"
            raise SettingsError((Problem(words, path=path, remedies=(path,)),))
    return model


def complaint_on(settings: ModelSettings) -> str | None:
    """The same in words, for a model that has a name."""
    model, lane = settings.model or "", lane_of(settings)
    if lane.fault:
        return client_words(settings, lane)
    return _no_provider(model, settings, lane) or _no_address(model, settings) or _no_key(model, settings)


def has_common_provider(settings: ModelSettings) -> bool:
    """Whether the provider is known without LiteLLM, or no model is named at all."""
    named = provider_of(settings.model or "") in PROVIDERS or "custom_llm_provider" in settings.extra_params
    return named or not settings.model


def _no_provider(model: str, settings: ModelSettings, lane: Lane) -> str | None:
    prefix = provider_of(model)
    if prefix and not model.removeprefix(f"{prefix}/").strip():
        return f"`{model}` names a provider and no model: write `{prefix}/NAME`"
    if lane.name == "direct" or has_common_provider(settings):
        return None
    if _is_known(model, settings.api_base):
        return None
    near = did_you_mean(prefix, sorted(PROVIDERS)) if prefix else ""
    if prefix and near:
        return f"`{model}`: `{prefix}` is not a provider that LiteLLM knows{near}"
    server = f"the server at {settings.api_base}" if settings.api_base else "a server with OpenAI's API"
    return (
        f"`{model}` names no provider, and LiteLLM knows no model of this name. Write `openai/{model}` for "
        f"{server}, or the provider's own prefix, such as `ollama/{model}`"
    )


@lru_cache(maxsize=256)
def _is_known(model: str, api_base: str | None) -> bool:
    try:
        imported().get_llm_provider(model=model, api_base=api_base)
    except ImportError:
        return True  # the call itself says that LiteLLM is missing
    except Exception:  # noqa: BLE001 - bare Exceptions for names that it doesn't know
        return False
    return True


def _no_address(model: str, settings: ModelSettings) -> str | None:
    """LiteLLM takes OpenAI's own address for a server that nobody has named; the conversation goes there."""
    server = SERVERS.get(provider_of(model) or "")
    if server is None or not server.variables or address_of(settings) or _leads_elsewhere(settings):
        return None
    return (
        f"no address for {model}: set api_base in the settings to that of your server, or the environment "
        f"variable {' or '.join(server.variables)}"
    )


def _leads_elsewhere(settings: ModelSettings) -> bool:
    """Whether LiteLLM may have an address by other ways, in code of the project for example."""
    variables = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "USE_LITELLM_PROXY")
    in_code = getattr(sys.modules.get("litellm"), "api_base", None)
    return bool(
        in_code or "custom_llm_provider" in settings.extra_params or any(map(own_variable, variables))
    )


def _no_key(model: str, settings: ModelSettings) -> str | None:
    """A project that uses LiteLLM itself may have set its key in code."""
    names = KEY_VARIABLES.get(provider_of(model) or "", ())
    given = settings.api_key is not None or "api_key" in settings.extra_params or "litellm" in sys.modules
    if not names or given or any(map(own_variable, names)):
        return None
    return (
        f"no API key for {model}: set api_key in the settings (any text for a server that wants none), or "
        f"the environment variable {' or '.join(names)}"
    )
