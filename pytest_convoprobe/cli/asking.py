"""Questions of a command to models, outside of any trial. What they cost is noted."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ..formatting import counted, dollars
from .console import Console
from .event_loop import run_async

if TYPE_CHECKING:
    from ..llm.port import LLM
    from ..settings.loading import LoadedSettings

T = TypeVar("T")


def asked_of_models(settings: LoadedSettings, work: Callable[[LLM], Coroutine[Any, Any, T]], words: str) -> T:
    """What comes of work with the models, within the budget of a run. `words` say what is waited for."""
    from ..llm.budget import Budget
    from ..llm.ledger import Ledger, Spending
    from ..llm.metered import Metered
    from ..llm.stack import build_llm
    from ..redaction import Redactor

    run, ledger = settings.settings.run, Ledger()
    budget = Budget(run.max_cost, run.max_tokens)
    llm = build_llm(run, Redactor(settings.secrets), budget)

    async def asked() -> T:
        try:
            return await work(Metered(llm, ledger, budget))
        finally:
            await llm.aclose()

    found = run_async(asked(), words)
    spent = sum(ledger.by_role.values(), Spending())
    if spent.calls:
        Console.of().note(f"{counted(spent.calls, 'call')}, {dollars(spent.cost)}")
    return found
