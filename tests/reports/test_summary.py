from __future__ import annotations

import json
from dataclasses import replace

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult, Vote
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.reports.summary import Digest, summary_lines
from pytest_convoprobe.result import Outcome, figures
from pytest_convoprobe.results.records import TrialRecord
from pytest_convoprobe.transcript import Usage

from .results import MET, TRIGGERED, result
from .runs import run_report

REPLAYED = {Role.JUDGE: Spending(1, 0, 1, Usage(100, 10), 0.002)}
JUDGED = {Role.JUDGE: Spending(2, 3, 0, Usage(1000, 100), 0.5)}
TALKED = {**JUDGED, Role.TARGET: Spending(4, 4, 0, Usage(2000, 300), 0.25)}


def test_no_results_have_no_summary() -> None:
    assert summary_lines([]) == []


def test_counts_by_outcome_and_blame() -> None:
    results = [
        result(Outcome.PASSED, spending={}),
        result(Outcome.PASSED, spending={}),
        result(Outcome.FAILED, blame=Blame.AGENT, spending={}),
        result(Outcome.ERROR, blame=Blame.INFRASTRUCTURE, spending={}),
        result(Outcome.ERROR, blame=Blame.JUDGE, spending={}),
        result(Outcome.ERROR, blame=Blame.JUDGE, spending={}),
        result(Outcome.SKIPPED, spending={}),
    ]
    assert summary_lines(results)[5:6] == [
        "7 scenarios: 2 passed, 1 failed (agent), 3 errors (2 judge, 1 infrastructure), 1 skipped"
    ]


def test_trials_are_not_called_scenarios() -> None:
    trials = [result(Outcome.PASSED, trial=number, spending={}) for number in (1, 2, 3)]
    assert summary_lines(trials)[0] == "1 scenario, 3 trials: 3 passed"


def test_spending_by_role_with_retries() -> None:
    lines = summary_lines([result(Outcome.PASSED, spending=TALKED), result(Outcome.PASSED, spending=JUDGED)])
    assert lines == [
        "2 scenarios: 2 passed",
        "spent: $1.25, 4,500 tokens in 8 calls, 2 tried again (without the agent in 1 of 2 conversations)",
        "  target: $0.2500, 2,300 tokens in 4 calls",
        "  judge: $1.00, 2,200 tokens in 4 calls, 2 tried again",
    ]


def test_votes_of_the_judge_have_a_price() -> None:
    votes = (Vote("met", True, "It answers"),) * 4
    by_four = result(Outcome.PASSED, criteria=(replace(MET, votes=votes), MET), spending=JUDGED)
    alone = result(Outcome.PASSED, criteria=(MET,), spending=JUDGED)
    silent = result(Outcome.ERROR, criteria=(), spending=JUDGED)
    assert "judge: 2.5 votes a conversation, $0.2000 a vote" in summary_lines([by_four, alone, silent])
    assert not [line for line in summary_lines([alone, silent]) if "a vote" in line]
    unpriced = {role: replace(spent, cost=None) for role, spent in JUDGED.items()}
    line = "judge: 4 votes a conversation, price unknown"
    assert line in summary_lines([replace(by_four, spending=unpriced), silent])


def test_replayed_stands_apart_from_spent() -> None:
    lines = summary_lines(
        [result(Outcome.PASSED, spending=REPLAYED), result(Outcome.PASSED, spending=JUDGED)]
    )
    assert lines[1:] == [
        "spent: $0.5000, 1,100 tokens in 2 calls, 1 tried again (without the agent)",
        "replayed: $0.0020, 110 tokens in 1 call when recorded",
    ]


def test_a_full_replay_spends_nothing() -> None:
    lines = summary_lines([result(Outcome.PASSED, spending=REPLAYED)])
    assert lines[1:] == [
        "spent: nothing (without the agent)",
        "replayed: $0.0020, 110 tokens in 1 call when recorded",
    ]


def test_an_unknown_price_is_said() -> None:
    unknown = {Role.JUDGE: Spending(1, 1, 0, Usage(10, 1), None)}
    lines = summary_lines([result(Outcome.PASSED, spending=unknown), result(Outcome.PASSED, spending=JUDGED)])
    assert lines[1] == "spent: price unknown, 1,111 tokens in 3 calls, 1 tried again (without the agent)"


def test_the_tokens_that_an_agent_reports_are_in_the_totals() -> None:
    own = {**JUDGED, Role.TARGET: Spending(usage=Usage(700, 300), cost=None)}
    assert summary_lines([result(Outcome.PASSED, spending=own)])[1:] == [
        "spent: $0.5000, 2,100 tokens in 2 calls, 1 tried again "
        "(agent: 1,000 tokens of its own, price unknown)",
        "  target: price unknown, 1,000 tokens in its own calls",
        "  judge: $0.5000, 1,100 tokens in 2 calls, 1 tried again",
    ]
    assert figures(result(Outcome.PASSED, spending=own))["tokens"] == 2100
    twice = Spending() + own[Role.TARGET] + own[Role.TARGET]
    assert (twice.cost, twice.usage.total) == (None, 2000)
    text = markdown(run_report([TrialRecord(result(Outcome.PASSED, spending=own))]))
    assert "$0.5000, 2,100 tokens (agent: 1,000 tokens of its own, price unknown)" in text


def test_what_did_not_pass_has_a_line_each() -> None:
    results = [
        result(Outcome.PASSED, spending={}),
        result(Outcome.FAILED, blame=Blame.AGENT, score=0.5, criteria=(MET, TRIGGERED), spending={}),
        result(Outcome.ERROR, blame=Blame.JUDGE, reason="no usable\nverdict", trial=2, spending={}),
        result(Outcome.SKIPPED, reason="cannot be told", spending={}),
    ]
    assert summary_lines(results)[:3] == [
        "failed   Weather without a city: agent: f1 triggered: "
        "The agent claims to have done what it did not do",
        "error    Weather without a city (trial 2): judge: no usable verdict",
        "skipped  Weather without a city: cannot be told",
    ]


def test_more_than_twenty_are_counted_and_listed_with_v() -> None:
    results = [result(Outcome.FAILED, blame=Blame.AGENT, reason="wrong", spending={})] * 23
    lines = summary_lines(results)
    assert [line.startswith("failed ") for line in lines].count(True) == 20
    assert lines[20] == "         and 3 more (-v lists them)"
    assert [line.startswith("failed ") for line in summary_lines(results, verbosity=1)].count(True) == 23


def test_the_three_slowest_are_named() -> None:
    results = [
        result(Outcome.PASSED, name=f"n{time}", duration=time, spending={}) for time in (1.0, 9.5, 3.0, 2.0)
    ]
    results.append(result(Outcome.SKIPPED, name="skipped", duration=99.0, spending={}))
    assert summary_lines(results)[-4:] == [
        "slowest:",
        "  9.5 s  n9.5",
        "  3.0 s  n3.0",
        "  2.0 s  n2.0",
    ]


def test_a_few_scenarios_are_not_ranked() -> None:
    assert "slowest:" not in summary_lines([result(Outcome.PASSED, spending={})] * 3)


def test_stays_short_whatever_fails() -> None:
    everything = {role: Spending(2, 3, 0, Usage(1, 1), 0.1) for role in Role}
    results = [result(Outcome.FAILED, spending=everything)] * 50 + [result(Outcome.PASSED, spending=REPLAYED)]
    assert len(summary_lines(results)) == 36


def test_a_hostile_name_is_harmless() -> None:
    hostile = result(Outcome.FAILED, name="\x1b[2J\n::error::x", reason="\x1b[2J\n::error::x", spending={})
    lines = summary_lines([hostile] * 4)
    assert all(line.isprintable() for line in lines)


def test_a_digest_travels_as_json() -> None:
    shown = result(Outcome.ERROR, blame=Blame.JUDGE, spending={**TALKED, **REPLAYED})
    digest = Digest.of(shown)
    assert Digest.from_json(json.loads(json.dumps(digest.to_json()))) == digest
    assert summary_lines([digest], verbosity=1) == summary_lines([shown], verbosity=1)


def test_a_digest_without_blame_travels_too() -> None:
    digest = Digest.of(result(Outcome.PASSED, name="lone \ud800", spending={}))
    data = json.loads(json.dumps(digest.to_json()))
    data["name"].encode("utf-8")
    assert Digest.from_json(data).blame is None


def test_prohibitions_that_cannot_be_broken_are_named_also_after_a_pass() -> None:
    found = "no call; the target has no such tool, so this can't fail"
    absent = CheckResult("prohibited tool drop_table", True, "no call", found)
    kept = CheckResult("prohibited tool pay", True, "no call", "no call")
    passed = result(Outcome.PASSED, checks=(absent, kept))
    (line,) = (line for line in summary_lines([passed, passed]) if line.startswith("note:"))
    assert line == "note: prohibited, but the target has no such tool, so this can't fail: drop_table"


def test_what_was_spent_without_a_result_is_part_of_the_total() -> None:
    """All conversations may have been interrupted, and cost something all the same."""
    calls = {Role.JUDGE: Spending(3, 3, 0, Usage(30, 15), 0.03)}
    assert summary_lines([], calls=calls) == [
        "spent: $0.0300, 45 tokens in 3 calls",
        "  of it without a result: $0.0300, 45 tokens in 3 calls",
    ]
    kept = result(Outcome.PASSED, spending={Role.JUDGE: Spending(1, 1, 0, Usage(10, 5), 0.01)})
    lines = summary_lines([kept], calls=calls)
    assert [line for line in lines if "calls" in line] == [
        "spent: $0.0300, 45 tokens in 3 calls (without the agent)",
        "  of it without a result: $0.0200, 30 tokens in 2 calls",
    ]
    assert summary_lines([], calls={}) == []
