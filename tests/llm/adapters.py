"""The adapters of both lanes, for tests of what holds for each of them."""

from __future__ import annotations

from pytest_convoprobe.llm.direct import Direct
from pytest_convoprobe.llm.litellm_adapter import LiteLLM

Adapter = LiteLLM | Direct

LANES: dict[str, type[Adapter]] = {"litellm": LiteLLM, "direct": Direct}
