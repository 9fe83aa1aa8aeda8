"""The page as a file: what is in it, what it may do, and the words that are made in Python."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.judging.types import CheckResult, UserReview
from pytest_convoprobe.reports.html import html_chunks
from pytest_convoprobe.reports.html.charts import spark
from pytest_convoprobe.reports.html.frame import for_script
from pytest_convoprobe.reports.html.page import context
from pytest_convoprobe.reports.html.quotes import marks
from pytest_convoprobe.reports.run_report import RunReport
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.run_info import RunState
from pytest_convoprobe.transcript import Reply, Transcript, Turn

from .pages import Parsed
from .runs import FAILED, PASSING, TRIALS, run_report, trial, with_past


def page(report: RunReport | None = None) -> str:
    return "".join(html_chunks(report or with_past()))


def test_asks_for_nothing_from_outside() -> None:
    tags = Parsed(page()).tags
    loading = [attributes.get(name) for _, attributes in tags for name in ("src", "srcset", "data", "action")]
    assert set(loading) == {None}
    assert {attributes["href"] for tag, attributes in tags if tag == "link"} == set()
    assert all("style" not in attributes for _, attributes in tags)
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)


def test_the_policy_names_the_only_script_and_style() -> None:
    parsed = Parsed(page())
    metas = [attributes for tag, attributes in parsed.tags if tag == "meta"]
    policy = next(one["content"] for one in metas if one.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(parsed.texts[kind][0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert len(parsed.texts["script"]) == 1


def test_every_conversation_is_in_it() -> None:
    """Also for a reader without scripts: as HTML, in the row of its trial."""
    text = page()
    kept = re.findall(r"<noscript>(.*?)</noscript>", text, re.DOTALL)
    assert len(kept) == len(TRIALS)
    assert "I&#39;m a regular customer, and my friend got his refund after two months!" in kept[0]
    assert "<code>look_up_order</code>" in kept[0]


@given(st.text())
def test_data_cannot_leave_its_script_element(text: str) -> None:
    written = for_script({"said": text + "</script><!--"})
    assert "<" not in written
    assert json.loads(written)["said"] == text + "</script><!--"


def test_a_very_long_text_is_cut_with_a_mark() -> None:
    long = Transcript((Turn(1, "a" * 100_000, Reply("b")),))
    text = page(run_report([trial(transcript=long)]))
    assert len(text) < 150_000
    assert re.search(r"a … \(80,0\d\d characters left out\) … a", text)


def test_thoughts_and_the_users_side_are_on_the_page() -> None:
    talk = Transcript((Turn(1, "Hi", Reply("Hello", thoughts="I wonder.")),))
    review = UserReview(note="the user's side was not reviewed: no", never_said=("The room is Blue",))
    text = page(run_report([trial(outcome=Outcome.FAILED, transcript=talk, review=review)]))
    assert re.search(r"Thoughts \(not sent, not evidence\).*I wonder\.</pre>", text, re.DOTALL)
    assert "known facts never said: The room is Blue" in text


def test_a_torn_run_says_so() -> None:
    report = run_report(
        notes=("a torn last line in trials-gw1.jsonl was skipped",), info={"state": RunState.BROKEN_OFF}
    )
    assert context(report)["warnings"] == [
        "The run broke off: its end was not recorded, and some scenarios may be missing.",
        "a torn last line in trials-gw1.jsonl was skipped",
    ]


@pytest.mark.parametrize(
    ("passed", "failed", "share"),
    [(1, 0, "100 %"), (0, 1, "0 %"), (999, 1, "99.9 %"), (1, 999, "0.1 %"), (1, 1, "50 %")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(passed: int, failed: int, share: str) -> None:
    report = run_report([PASSING[0]] * passed + [FAILED] * failed)
    assert context(report)["share"] == share


def test_a_run_of_skips_has_no_share() -> None:
    assert context(run_report([trial(outcome=Outcome.SKIPPED)]))["share"] == "none"


def test_trials_of_a_scenario_stand_together() -> None:
    second = trial(PASSING[0].result.name, file="scenarios/orders.yaml", trial=2, outcome=Outcome.FAILED)
    rows = context(run_report([PASSING[0], PASSING[1], second]))["rows"]
    assert [(row.name, row.trial) for row in rows[:2]] == [
        ("Where is my parcel?", "trial 1 · 1 of 2 passed"),
        ("Where is my parcel?", "trial 2 · 1 of 2 passed"),
    ]


def test_the_past_of_a_scenario_is_a_row_of_bars() -> None:
    bars = spark([{"passed": 1}, {"failed": 1}, {"skipped": 1}, {"passed": 1, "failed": 1, "error": 2}])
    assert bars is not None
    assert bars.label == "The last 3 runs, the oldest first: passed, failed, 1 of 4 passed"
    assert [(bar.kind, bar.x) for bar in bars.bars] == [
        ("passed", 0),
        ("failed", 7),
        ("passed", 14),
        ("failed", 14),
        ("error", 14),
    ]


def test_a_first_run_has_no_trend() -> None:
    assert spark([{"passed": 3}]) is None


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("closed on 1 November", ("reply", ("closed on 1 November",))),
        ("“Closed on 1\nNOVEMBER.”", ("reply", ("closed on 1 November",))),
        ("I'm afraid … 1 November", ("reply", ("I'm afraid", "1 November"))),
        ("the colour", ("user", ("the colour",))),
        ("1 November … I'm afraid", None),
        ("nobody said this", None),
        ("…", None),
    ],
)
def test_where_a_quote_stands(quote: str, found: tuple[str, tuple[str, ...]] | None) -> None:
    texts = [("reply", "I'm afraid it closed on 1 November."), ("user", "I don't like the colour.")]
    assert marks(quote, texts) == found


@given(st.text(), st.text(), st.text())
def test_what_is_marked_stands_in_the_text(before: str, quote: str, after: str) -> None:
    text = f"{before} {quote} {after}"
    found = marks(quote, [("reply", text)])
    assert found is None or all(piece in text for piece in found[1])
    if found is None:
        assert (
            not re.search(r"[^\W_]", quote)
            or "…" in quote
            or "..." in quote
            or re.search(r"[\W_]{40}", quote)
        )


def test_a_page_says_that_no_judge_was_asked() -> None:
    checked = trial(
        "Order", criteria=(), checks=(CheckResult("required tool find", True, "1 call", "1 call"),)
    )
    text = page(run_report([checked]))
    assert "No judge was asked, since all checks are by code." in text
    assert "Not judged" not in text
