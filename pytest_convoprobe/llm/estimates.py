"""What a call is going to use, estimated before it is sent."""

from __future__ import annotations

from dataclasses import dataclass

from .budget import Spent
from .port import LLMReply, LLMRequest, Price, Role

_Kind = tuple[str | None, str | None, Role]

# English has some four bytes a token, other languages fewer. Too many is better than too few here.
_BYTES_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 4


@dataclass
class _Seen:
    """The largest that was seen of one kind of call.

    `beyond_text` is how many prompt tokens a provider counted beyond those estimated from the text: those of
    its own template, or of a language with more tokens.
    """

    beyond_text: int = 0
    completion: int = 0
    cost_per_token: float = 0.0


class Estimates:
    """Learns from the calls of a run what calls of their kind use: same model, same address, same role.

    Where a `price` is given, estimates of the cost use it. Without one they go by the most expensive token so
    far.
    """

    def __init__(self) -> None:
        self._seen: dict[_Kind, _Seen] = {}

    def of(self, request: LLMRequest, price: Price | None = None) -> Spent | None:
        """What the call may use at most, as far as one can tell; None if no call of its kind has ended."""
        # Not even with a limit on its length: some providers count what is in no message and no reply.
        return self.guess(request, price) if _kind(request) in self._seen else None

    def guess(self, request: LLMRequest, price: Price | None = None) -> Spent:
        """The same, by its text alone if nothing else is known."""
        longest = request.max_tokens or request.model.max_tokens
        completion = longest or self._of_kind(request).completion
        return self._spent(request, completion, price)

    def used(self, request: LLMRequest, reply: LLMReply, price: Price | None = None) -> Spent:
        """What a call has used, whose provider doesn't say so."""
        return self._spent(request, _tokens(reply.text), price)

    def learn(self, request: LLMRequest, reply: LLMReply) -> None:
        """Take in what a call has used."""
        seen = self._seen.setdefault(_kind(request), _Seen())
        usage, cost = reply.usage, reply.cost or 0.0
        seen.beyond_text = max(seen.beyond_text, usage.prompt_tokens - text_tokens(request))
        seen.completion = max(seen.completion, usage.completion_tokens, _tokens(reply.text))
        seen.cost_per_token = max(seen.cost_per_token, cost / usage.total if usage.total else 0.0)

    def tried(self, request: LLMRequest) -> None:
        """A call was given up without an answer. The next ones need not go one by one for that."""
        # Otherwise a provider that never answers would hold up all others, one time limit after another.
        self._seen.setdefault(_kind(request), _Seen())

    def _spent(self, request: LLMRequest, completion: int, price: Price | None) -> Spent:
        seen = self._of_kind(request)
        prompt = text_tokens(request) + seen.beyond_text
        listed = prompt * price[0] + completion * price[1] if price else 0.0
        # A list may lack what a provider charges on top, so the more expensive of the two counts.
        return Spent(max(listed, seen.cost_per_token * (prompt + completion)), prompt + completion)

    def _of_kind(self, request: LLMRequest) -> _Seen:
        return self._seen.get(_kind(request), _Seen())


def text_tokens(request: LLMRequest) -> int:
    """How many tokens the text of a request has, roughly: rather too many than too few."""
    texts = [message.content for message in request.messages]
    texts += [asked.arguments for message in request.messages for asked in message.tool_requests]
    texts += [f"{tool.description}{tool.parameters}" for tool in request.tools]
    return sum(_tokens(text) + _TOKENS_PER_MESSAGE for text in texts) + _tokens(str(request.schema or ""))


def _tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size // _BYTES_PER_TOKEN


def _kind(request: LLMRequest) -> _Kind:
    return request.model.model, request.model.api_base, request.context.role
