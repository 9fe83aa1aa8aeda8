"""How much likelier a model would begin its answer with Yes than with No: one token, and its probabilities.

Small models lean to one answer whatever they read, and give reasons for it. How far the chances move is still
informative. What they are compared with is up to the caller: the gate's judge compares with an empty
conversation or with the opposite statement, a benchmark's evaluator with the metric's examples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import LLMRejected, NoTokenChances
from ..llm.port import LLM, CallContext, LLMRequest, Message
from ..settings.model_settings import ModelSettings

# The most that OpenAI's interface gives.
_TOP_TOKENS = 20
_LEAST_CHANCE = -10.0
"""What is less likely than e to this power hardly ever happens, and some providers put -9999 for it."""


async def odds_of_yes(
    llm: LLM, model: ModelSettings, question: str, context: CallContext, *, needed_by: str
) -> float | None:
    """By how much ln P(Yes) exceeds ln P(No) as the answer; None if it would be neither of the two.

    `needed_by` names the setting that asks for it and what to take instead. Raises `NoTokenChances`, and what
    `llm` raises.
    """
    messages: tuple[Message, ...] = (Message("user", question),)
    if model.extra_instructions:
        messages = (Message("system", model.extra_instructions), *messages)
    # One token: only the first word's chances count, and small models would go on for long.
    request = LLMRequest(model, messages, context, max_tokens=1, top_tokens=_TOP_TOKENS)
    refusal = None
    try:
        reply = await llm.complete(request)
    except LLMRejected as error:
        if "logprobs" not in error.message:
            raise
        refusal = error
    if refusal is not None:
        raise _no_chances(model, needed_by, refusal)
    if not reply.top_tokens:
        raise _no_chances(model, needed_by)
    return log_odds(reply.top_tokens)


def _no_chances(model: ModelSettings, needed_by: str, refusal: LLMRejected | None = None) -> NoTokenChances:
    details = f" ({refusal.message})" if refusal else ""
    found = NoTokenChances(
        f"{model.model} doesn't report how likely its words are (logprobs), which {needed_by}{details}",
        model=model.model or "",
    )
    if refusal is not None:
        found.attempts, found.cost, found.status = refusal.attempts, refusal.cost, refusal.status
    return found


def log_odds(top_tokens: Mapping[str, float]) -> float | None:
    """By how much ln P(Yes) exceeds ln P(No), each summed over its spellings;
    None if neither is among the tokens, or if a chance is not a number.

    A missing word counts as at most as likely as the least likely token listed, and at most as likely as all
    unlisted tokens together.
    """
    # A server that overflows writes NaN or Infinity. Each comparison with NaN is false, which would be a No.
    if any(math.isnan(chance) or chance == math.inf for chance in top_tokens.values()):
        return None
    chances = {token: max(chance, _LEAST_CHANCE) for token, chance in top_tokens.items()}
    found = [_sum(chances, word) for word in ("yes", "no")]
    if found == [None, None]:
        return None
    there = [math.exp(chance) for chance in chances.values()]
    least = min(*there, max(1 - sum(there), math.exp(_LEAST_CHANCE)))
    yes, no = (least if one is None else one for one in found)
    return math.log(yes) - math.log(no)


def _sum(chances: Mapping[str, float], word: str) -> float | None:
    """The probability of a word in all its spellings; None if it isn't there."""
    found = [math.exp(chance) for token, chance in chances.items() if _word(token) == word]
    return sum(found) if found else None


def _word(token: str) -> str:
    """Without what tokenizers write for a space."""
    return token.strip(" \n\u2581\u0120").lower()
