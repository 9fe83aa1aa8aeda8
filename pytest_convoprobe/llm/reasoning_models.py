"""What OpenAI's models refuse while they reason, as their names and LiteLLM's list of models say it.

Without it the first call of each model would be refused several times, once for each parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ..settings.model_settings import ModelSettings
from .price_list import listed

_O_SERIES = re.compile(r"\Ao\d")
_GPT_SERIES = re.compile(r"gpt-[5-9]")
_CHAT_ONLY = "gpt-5-chat"

_SAMPLING = ("temperature", "logprobs", "top_logprobs", "top_p")
_EFFORT = frozenset(("reasoning_effort",))


def refusals_expected(settings: ModelSettings) -> frozenset[str]:
    """The parameters to leave out; `max_tokens` among them is sent under its newer name."""
    model = settings.model or ""
    name = model.rpartition("/")[2]
    if not (_GPT_SERIES.search(name) or _O_SERIES.match(name)) or _CHAT_ONLY in name:
        return _EFFORT if _never_reasons(model) else frozenset()
    return _refused(model, settings.reasoning)


def _never_reasons(model: str) -> bool:
    entry = listed(model)
    return entry.get("litellm_provider") == "openai" and not entry.get("supports_reasoning")


@lru_cache(maxsize=64)
def _refused(model: str, effort: str | None) -> frozenset[str]:
    return frozenset(_names(model, effort))


def _names(model: str, effort: str | None) -> Iterator[str]:
    entry = listed(model)
    if _O_SERIES.match(model.rpartition("/")[2]) and not entry:
        return  # another provider's model that is named alike
    yield "max_tokens"
    if _never_reasons(model):
        yield from _EFFORT
    if effort is not None:
        known = entry.get(f"supports_{effort}_reasoning_effort")
        if known is False or (effort == "xhigh" and not known):
            yield "reasoning_effort"
            effort = None
    reasons_not = (effort or entry.get("default_reasoning_effort")) == "none"
    if not (reasons_not and entry.get("supports_none_reasoning_effort")):
        yield from _SAMPLING
