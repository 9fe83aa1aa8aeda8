"""Patterns of scenarios mean what they mean to `re`, and end in time."""

from __future__ import annotations

import re
import warnings

import pytest

from pytest_convoprobe.errors import Blame, ScenarioError
from pytest_convoprobe.judging import patterns
from pytest_convoprobe.judging.checks import run_checks
from pytest_convoprobe.scenario.models import Evaluation
from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn

PATTERNS = r"""
a{e} x{ {a} a{1} a{,3} a{,} a{} a{1, a{1,x} [[:alpha:]] [[a]b] [[] []]x [^]] [^[]{2} [[:] \N{BULLET}
\s [\s] \S
(?i)strasse ^a$ a\Z \bfoo\b (?P<n>a)(?P=n) \{a\} [{]e} (?a:\w) (?<=a)b (a)?b(?(1)c|d) \d{2}[:][0-9] [:] [a[:]]
\[[^]]+\]
""".split()
TEXTS = r"""
a aaa ab abe] a{e} x{ {a} a{} a{,} a{1, a{1,x} alpha [[: l] a] [ b] :] STRASSE bd abc 11:3
& a{1} ]x x] ] e} [x] [[
""".split()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_it_means_to_re(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        wanted = re.compile(pattern)
    texts = [*TEXTS, "\u2022", "foo bar", "\x1c", "a\n", "\u00e9", ""]
    found = [text for text in texts if patterns.is_found(pattern, text, "it")]
    assert found == [text for text in texts if wanted.search(text)]


def test_a_pattern_without_an_end_is_the_scenarios_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)
    criterion = {"tool": "find", "assertions": [{"args": {"text": {"matches": "(a|aa|a?)+$"}}}]}
    keys = {"correctness_criteria": ["It answers"], "tool_usage": {"tool_call_criteria": [criterion]}}
    evaluation = Evaluation.model_validate(keys)
    call = ToolCall("find", {"text": "a" * 40 + "!"})
    with pytest.raises(ScenarioError, match=r"`text` \(41 characters\)") as caught:
        run_checks(evaluation, Transcript((Turn(1, "Find it", Reply("Found.", (call,))),)))
    assert caught.value.blame is Blame.SCENARIO
