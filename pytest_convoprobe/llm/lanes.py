"""Which way calls of a model take: directly, to a server that speaks chat completions, or through LiteLLM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from ..errors import Problem, SettingsError
from ..project_code.agent_environment import own_variable
from ..settings.model_settings import ModelSettings
from ..settings.providers import provider_of
from .price_list import listed


@dataclass(frozen=True)
class Lane:
    """The way of a model's calls, and in words why. `fault` says why `client: direct` cannot be had."""

    name: Literal["direct", "litellm"]
    reason: str
    fault: str = ""


@dataclass(frozen=True)
class Server:
    """Where a provider's models are called directly.

    `variables` are the environment variables with another address than `base`, which may be empty, and `keys`
    those with the key. `wants_key` says whether nobody is answered without one.
    """

    base: str = ""
    variables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    wants_key: bool = False


_OPENAI = Server(
    "https://api.openai.com/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",), wants_key=True
)
SERVERS: Mapping[str, Server] = {
    "openai": _OPENAI,
    "custom_openai": _OPENAI,
    "hosted_vllm": Server("", ("HOSTED_VLLM_API_BASE",), ("HOSTED_VLLM_API_KEY",)),
    "litellm_proxy": Server(
        "", ("LITELLM_PROXY_API_BASE",), ("LITELLM_PROXY_API_KEY", "OPENAI_API_KEY"), wants_key=True
    ),
    "llamafile": Server("http://127.0.0.1:8080/v1", ("LLAMAFILE_API_BASE",), ("LLAMAFILE_API_KEY",)),
    "lm_studio": Server("", ("LM_STUDIO_API_BASE",), ("LM_STUDIO_API_KEY",)),
    "ollama": Server(),
    "ollama_chat": Server(),
    "openai_like": Server("", ("OPENAI_LIKE_API_BASE",), ("OPENAI_LIKE_API_KEY",)),
}
"""The providers that speak chat completions, with what is known about their servers."""

_YES = frozenset(("1", "on", "t", "true", "y", "yes"))
# The name in the list for those of OpenAI's models that are older than chat completions.
_OLDER = "text-completion-openai"
_OLLAMA = frozenset(("ollama", "ollama_chat"))

# What LiteLLM does something with by itself, or passes on in a way of its own.
_OF_LITELLM = frozenset(
    "additional_drop_params allowed_openai_params api_base api_key api_version azure_ad_token base_model "
    "base_url cache caching client cooldown_time custom_llm_provider custom_prompt_dict deployment_id "
    "drop_params eos_token extra_headers extra_query fallbacks force_timeout guardrails headers "
    "hf_model_name input_cost_per_second input_cost_per_token litellm_call_id litellm_logging_obj "
    "litellm_metadata litellm_params logger_fn max_retries metadata mock_delay mock_response mock_timeout "
    "mock_tool_calls model_config model_info model_list no-log num_retries organization "
    "output_cost_per_second output_cost_per_token preset_cache_key prompt_id prompt_variables "
    "proxy_server_request request_timeout retry_policy rpm ssl_verify stream stream_timeout thinking "
    "timeout tpm use_in_pass_through use_litellm_proxy".split()
)
_OF_LITELLM_PREFIXES = ("aws_", "azure_", "litellm_", "vertex_", "watsonx_")

_GPT_VERSION = re.compile(r"\Agpt-(\d+)(?:\.(\d+))?(?=[.-]|\Z)")
# From here on OpenAI refuses tools in chat completions as long as the model reasons.
_NO_TOOLS_WHILE_REASONING = (5, 4)


def lane_of(settings: ModelSettings, *, with_tools: bool = False) -> Lane:
    """The lane of calls with these settings; `with_tools` says whether they offer tools to the model.

    Only the settings, the addresses in the environment and LiteLLM's list of models decide. Nothing is
    called, and nothing of LiteLLM imported.
    """
    obstacle = _obstacle(settings, with_tools)
    if settings.client == "litellm":
        return Lane("litellm", "`client: litellm` is set")
    if settings.client == "direct":
        return Lane("direct", "`client: direct` is set", obstacle)
    if obstacle:
        return Lane("litellm", obstacle)
    server = f"the server at {settings.api_base}" if settings.api_base else f"`{provider_name(settings)}`"
    return Lane("direct", f"{server} speaks chat completions")


def require_lane(settings: ModelSettings, role: str, *, with_tools: bool = False) -> Lane:
    """The same. Raises `SettingsError` if `client: direct` is set for a model that needs LiteLLM."""
    lane = lane_of(settings, with_tools=with_tools)
    if lane.fault:
        path = f"{role}.client"
        raise SettingsError((Problem(client_words(settings, lane), path=path, remedies=(path,)),))
    return lane


def client_words(settings: ModelSettings, lane: Lane) -> str:
    """Why the model cannot be called as `client: direct` wants it, and what to do."""
    return (
        f"`{settings.model}` cannot be called with `client: direct`: {lane.fault}. Leave `client` out to "
        "call it through LiteLLM"
    )


def provider_name(settings: ModelSettings) -> str:
    """The provider in a model's name; `openai` for a bare name that the list has as one of OpenAI's."""
    model = settings.model or ""
    named = provider_of(model)
    return named or ("openai" if listed(model).get("litellm_provider") == "openai" else "")


def name_at_server(settings: ModelSettings) -> str:
    """The model's name as its server knows it, without the provider."""
    model = settings.model or ""
    return model.partition("/")[2] if "/" in model else model


def address_of(settings: ModelSettings) -> str:
    """The address of a model's server, from the settings, the environment or the provider; empty if unknown.

    The environment is that of the project: the agent under test may get other addresses.
    """
    server = SERVERS.get(provider_name(settings), Server())
    return settings.api_base or next(filter(None, map(own_variable, server.variables)), "") or server.base


def _obstacle(settings: ModelSettings, with_tools: bool) -> str:
    """Why LiteLLM is needed; empty if it isn't."""
    provider = provider_name(settings)
    if provider not in SERVERS:
        return _not_ours(provider)
    if (own_variable("USE_LITELLM_PROXY") or "").lower() in _YES:
        return "USE_LITELLM_PROXY is set, which sends all of LiteLLM's calls to a proxy"
    of_litellm = next((name for name in settings.extra_params if _is_of_litellm(name)), None)
    if of_litellm is not None:
        return f"`extra_params.{of_litellm}` is a parameter of LiteLLM"
    if provider in _OLLAMA:
        return _no_ollama(settings)
    if not address_of(settings):
        return f"no `api_base` is set, and `{provider}` has no address of its own"
    return _other_protocol(settings, with_tools)


def _not_ours(provider: str) -> str:
    if not provider:
        return "its name begins with no provider"
    return (
        f"`{provider}` is a provider that LiteLLM translates for (for a server with OpenAI's API, write "
        "`openai/NAME` and `api_base`)"
    )


def _no_ollama(settings: ModelSettings) -> str:
    if not (settings.api_base or "").rstrip("/").endswith("/v1"):
        return "Ollama's own protocol is used unless `api_base` ends with /v1"
    if settings.context_size is not None:
        return "`context_size` can be set in Ollama's own protocol only (an `api_base` without /v1)"
    return ""


def _other_protocol(settings: ModelSettings, with_tools: bool) -> str:
    """Why the model needs another protocol than chat completions, by its name and the list."""
    name = name_at_server(settings)
    mode = listed(settings.model or "").get("mode") or listed(f"{_OLDER}/{name}").get("mode")
    if name.startswith("responses/"):
        return "its name asks for the Responses API"
    if mode not in (None, "chat"):
        return f"it is listed with the mode `{mode}`, which isn't chat completions"
    if with_tools and _refuses_tools(settings, name):
        return "it takes tools through the Responses API only, unless `reasoning` is `none`"
    return ""


def _refuses_tools(settings: ModelSettings, name: str) -> bool:
    version = _GPT_VERSION.match(name.rpartition("/")[2])
    if version is None or (int(version[1]), int(version[2] or 0)) < _NO_TOOLS_WHILE_REASONING:
        return False
    if settings.reasoning == "none":
        return listed(settings.model or "").get("supports_none_reasoning_effort") is False
    return settings.reasoning is not None or _is_openais(address_of(settings))


def _is_openais(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def _is_of_litellm(name: str) -> bool:
    return name in _OF_LITELLM or name.startswith(_OF_LITELLM_PREFIXES)
