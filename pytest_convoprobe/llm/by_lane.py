"""The models of a run, each called in its lane: directly, or through LiteLLM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cutting import MOST_TEXT
from ..settings.model_settings import ModelSettings
from ..settings.requirements import require_model
from .direct import Direct
from .lanes import Lane, lane_of, require_lane
from .masking import TextRedactor
from .port import LLMReply, LLMRequest, Price
from .schema_probe import SchemaUse

if TYPE_CHECKING:
    from .litellm_adapter import LiteLLM


class ByLane:
    """Hands each call to the adapter of its lane (`lane_of`). LiteLLM is imported only if one needs it."""

    def __init__(self, redactor: TextRedactor | None = None, max_text: int = MOST_TEXT) -> None:
        self._made_with = (redactor, max_text)
        self._direct = Direct(redactor, max_text)
        self._litellm: LiteLLM | None = None

    def preload(self, *models: ModelSettings) -> None:
        """Start the slow imports that calls of these models need, in the background."""
        for adapter in {self._adapter(model) for model in models if model.model}:
            adapter.preload()

    async def loaded(self) -> None:
        """Wait until imports that were started have ended, with or without success."""
        await self._direct.loaded()
        if self._litellm is not None:
            await self._litellm.loaded()

    async def complete(self, request: LLMRequest) -> LLMReply:
        require_model(request.model, request.context.role)
        lane = require_lane(request.model, request.context.role.value, with_tools=bool(request.tools))
        return await self._of(lane).complete(request)

    def schema_use(self, settings: ModelSettings) -> SchemaUse | None:
        """What calls have shown about schemas at this endpoint; None if none has been sent."""
        return self._adapter(settings).schema_use(settings)

    async def knows_price(self, settings: ModelSettings) -> bool:
        """Whether the cost of calls to this model will be known."""
        return await self._adapter(settings).knows_price(settings)

    async def price_of(self, settings: ModelSettings) -> Price | None:
        """US dollars for a prompt token and for a completion token, or None if unknown."""
        return await self._adapter(settings).price_of(settings)

    async def aclose(self) -> None:
        """Close the connections of both lanes, as far as they were used."""
        await self._direct.aclose()
        if self._litellm is not None:
            await self._litellm.aclose()

    def _adapter(self, settings: ModelSettings) -> Direct | LiteLLM:
        return self._of(lane_of(settings))

    def _of(self, lane: Lane) -> Direct | LiteLLM:
        if lane.name == "direct":
            return self._direct
        if self._litellm is None:
            from .litellm_adapter import LiteLLM  # here, since most runs need nothing of it

            self._litellm = LiteLLM(*self._made_with)
        return self._litellm
