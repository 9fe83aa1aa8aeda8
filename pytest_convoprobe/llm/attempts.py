"""One call as several attempts: without the parameters that a model refuses, and with or without a schema.

Both lanes share it: it decides what is sent, and learns from what comes back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import LLMError
from ..settings.model_settings import ModelSettings
from .chat_format import call_parameters, fewer_top_tokens, refused_parameter
from .port import LLMReply, LLMRequest
from .schema_probe import FORMAT, Endpoint, SchemaProbes, SchemaUse, endpoint_of, use_shown_by

# What servers answer to a parameter that they don't know. Some give no reason, and 404 is a router's answer
# if none of its models takes the parameter.
_REFUSALS = frozenset({400, 404, 415, 422, 501})
# Some servers fail instead; then their words have to name the parameter.
_NAMED_REFUSALS = _REFUSALS | {500}

Attempt = Callable[[LLMRequest, dict[str, Any]], Awaitable[LLMReply | LLMError]]
"""Sends a call with these parameters once. A failure is returned: a traceback would show the parameters."""


def _none_expected(_: ModelSettings) -> frozenset[str]:
    return frozenset()


class Attempts:
    """The calls of one adapter; it belongs to one event loop.

    A parameter that a model refuses (`temperature`, `response_format`) is left out from then on; the repeated
    call counts as an attempt. Where a provider gives the chances of fewer tokens than were asked for, that
    many are asked for. Whether schemas are sent under `structured_output: auto` is found out by the first
    call that has one (`schema_probe`). `expected` names the parameters that a model is known to refuse.
    """

    def __init__(
        self, attempt: Attempt, expected: Callable[[ModelSettings], frozenset[str]] = _none_expected
    ) -> None:
        self._attempt = attempt
        self._expected = expected
        self._refused: defaultdict[Endpoint, set[str]] = defaultdict(set)
        self._top_tokens: dict[Endpoint, int] = {}
        self._schemas = SchemaProbes()

    async def complete(self, request: LLMRequest) -> LLMReply:
        """The reply, with the number of attempts that it took."""
        wanted = request.model.structured_output
        if request.schema is None or wanted != "auto":
            return await self._tried(request, schema=wanted == "schema")
        async with self._schemas.asking(request.model) as use:
            if use is not None:
                return await self._tried(request, schema=use is SchemaUse.OBEYED)
            return await self._tried(request, schema=True, probe=True)

    def schema_use(self, settings: ModelSettings) -> SchemaUse | None:
        """What calls have shown about schemas at this endpoint; None if none has been sent."""
        return self._schemas.found(settings)

    async def _tried(self, request: LLMRequest, *, schema: bool, probe: bool = False) -> LLMReply:
        """The reply to the call, repeated without the parameters that are refused."""
        refused = self._refused[endpoint_of(request.model)]
        attempts, suspected = 0, False
        while True:
            attempts += 1
            outcome = await self._once(request, frozenset(refused), schema=schema)
            if isinstance(outcome, LLMReply):
                if probe:
                    self._learn(request, outcome, sent=schema, suspected=suspected)
                return replace(outcome, attempts=attempts)
            if outcome.refused == FORMAT:
                schema = False
                self._schemas.settle(request.model, SchemaUse.REFUSED)
            elif outcome.top_tokens is not None:
                self._top_tokens[endpoint_of(request.model)] = outcome.top_tokens
            elif outcome.refused is not None:
                refused.add(outcome.refused)
            elif probe and schema and outcome.error.status in _REFUSALS:
                # No word of the parameter. Whether it was the schema shows when the same call works without.
                schema, suspected = False, True
            else:
                outcome.error.attempts = attempts
                # Raised outside of any handler, so that it has no exception of a client as its context.
                raise outcome.error

    def _learn(self, request: LLMRequest, reply: LLMReply, *, sent: bool, suspected: bool) -> None:
        """What the reply to a probe shows; a reply to a call without a schema shows nothing by itself."""
        use = SchemaUse.REFUSED if suspected else None
        if sent and request.schema is not None:
            use = use_shown_by(reply, request.schema)
        if use is not None:
            self._schemas.settle(request.model, use)

    async def _once(
        self, request: LLMRequest, refused: frozenset[str], *, schema: bool
    ) -> LLMReply | _Failed:
        settings = request.model
        most = self._top_tokens.get(endpoint_of(settings))
        refused |= self._expected(settings)
        parameters = call_parameters(request, schema=schema, refused=refused, most_top_tokens=most)
        outcome = await self._attempt(request, parameters)
        if isinstance(outcome, LLMReply):
            return outcome
        return _failed(outcome, settings, parameters, schema=schema)


@dataclass(frozen=True)
class _Failed:
    """A failed attempt, and the parameter without which it may work, or how many top tokens may."""

    error: LLMError
    refused: str | None = None
    top_tokens: int | None = None


def _failed(error: LLMError, settings: ModelSettings, parameters: dict[str, Any], *, schema: bool) -> _Failed:
    if error.status not in _NAMED_REFUSALS:
        return _Failed(error)
    wrong = refused_parameter(parameters, error.message)
    # "schema" is a promise of the settings: then a refusal is an error and no reason to do without.
    # Without a schema of ours, the parameter comes from `extra_params`, and we never leave these out.
    if wrong == FORMAT and (settings.structured_output == "schema" or not schema):
        wrong = None
    # What `extra_params` set is sent as it is.
    sent = None if "top_logprobs" in settings.extra_params else parameters.get("top_logprobs")
    return _Failed(error, wrong, fewer_top_tokens(sent, error.message))
