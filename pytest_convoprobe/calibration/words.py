"""What a judge reached, in the words of every place that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from ..formatting import counted, dollars, number, number_range, percent, percent_range
from ..judging.threshold import learned_threshold
from ..llm.ledger import Spending
from ..text import harmless, one_line, shorten
from .agreement import JudgeFigures, LabelAnswer, Share, figures_of
from .measured import Measured

_SHOWN = 20
_LONG = 200


def headline(judge: str, reached: JudgeFigures) -> str:
    """`judge openai/x agrees with 37 of 40 labels (93 %, interval 80-97 %), kappa 0.84 (0.65 to 0.97)`."""
    kappa = number(reached.kappa)
    between = f" ({number_range(reached.kappa_interval)})" if reached.kappa_interval else ""
    return f"judge {judge} agrees with {_share(reached.agreed, 'labels')}, kappa {kappa}{between}"


def spent_words(spent: Spending) -> str:
    """`40 calls, $0.0120`, or `40 calls, all replayed`."""
    calls = counted(spent.calls, "call")
    if spent.calls and spent.replayed == spent.calls:
        return f"{calls}, all replayed"
    return f"{calls}, {dollars(spent.cost)}"


def figures_text(measured: Measured) -> str:
    """All figures, and each label that the judge sees otherwise; for people, several lines."""
    reached = figures_of(measured.answers)
    conversations = counted(reached.conversations, "conversation")
    lines = [
        f"{headline(measured.judge, reached)}, in {conversations} ({spent_words(measured.spent)})",
        f"faults that it finds (sensitivity): {_share(reached.sensitivity)}",
        f"right answers that it accepts (specificity): {_share(reached.specificity)}",
        f"undecided: {reached.undecided}",
        *_threshold(measured),
        *_differences(measured),
    ]
    return "\n".join(harmless(one_line(line)) for line in lines)


def _threshold(measured: Measured) -> Iterator[str]:
    """The threshold that these labels would give, for a judge that has one."""
    found = [
        (one.score, one.truth) for one in measured.answers if one.score is not None and one.truth is not None
    ]
    if not found:
        return
    scores, truths = zip(*found, strict=True)
    learned = learned_threshold(scores, truths)
    few = "too few true or false statements to learn a judge.threshold from: at least two of each are needed"
    yield learned.sentence() if learned else few


def canaries_line(judge: str, measured: Measured | None) -> str:
    """`judge openai/x: 23 of 24 canaries (2026-11-28)`."""
    if measured is None:
        return f"judge {judge}: canaries not run"
    met, every = canaries_met(measured)
    day = datetime.fromtimestamp(measured.at, timezone.utc).date().isoformat()
    return f"judge {judge}: {len(met)} of {len(every)} canaries ({day})"


def canaries_met(measured: Measured) -> tuple[list[str], list[str]]:
    """The conversations of which the judge got every criterion right, and all conversations."""
    every = list(dict.fromkeys(one.conversation for one in measured.answers))
    wrong = {one.conversation for one in measured.answers if not one.agrees}
    return [name for name in every if name not in wrong], every


def difference(one: LabelAnswer) -> str:
    """`refund-promised: "The agent refunds" is a fault, and the judge accepts it: …`."""
    truth = "is in order" if one.holds else "is a fault"
    said = {None: "cannot tell", True: "accepts it", False: "calls it a fault"}[one.judged]
    why = f": {shorten(one_line(one.why), _LONG)}" if one.why else ""
    return f'{one.conversation}: "{one.criterion}" {truth}, and the judge {said}{why}'


def _differences(measured: Measured) -> Iterator[str]:
    found = [one for one in measured.answers if not one.agrees]
    yield from (f"  {difference(one)}" for one in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"  and {len(found) - _SHOWN} more"


def _share(share: Share, things: str = "") -> str:
    """`37 of 40 labels (93 %, interval 80-97 %)`."""
    if share.value is None:
        return "none in these labels"
    interval = f", interval {percent_range(share.interval)}" if share.interval else ""
    number_of = " ".join(filter(None, (f"{share.part} of {share.whole}", things)))
    return f"{number_of} ({percent(share.value)}{interval})"
