from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult, Criterion, CriterionKind, CriterionResult
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.reports.failure import headline, render_failure
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.text import cell_width
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Transcript, Turn, Usage

from .results import (
    CALLED,
    MET,
    NOT_MET,
    NOT_TRIGGERED,
    TOO_MANY,
    TRIGGERED,
    TURNS,
    UNTOLD,
    broken_off,
    result,
)

RERUN = "pytest 'scenarios/weather.yaml::Weather without a city'"

TRACE = """\
Traceback (most recent call last):
  File "weather_agent.py", line 12, in answer
    return FORECAST[city]
KeyError: 'Oslo'
"""


def render(shown: ScenarioResult, **options: Any) -> str:
    known: dict[str, Any] = {"verbosity": 0, "width": 80, "rerun_command": RERUN, "ascii_only": False}
    return render_failure(shown, **{**known, **options})


def check(shown: ScenarioResult, text: str, label: str = "run again") -> None:
    """The text without the command's line, which is the same for all."""
    assert render(shown) == f"{text.strip(chr(10))}\n\n{label}: {RERUN}"


def test_failed_by_a_criterion() -> None:
    shown = result(
        Outcome.FAILED,
        blame=Blame.AGENT,
        reason="c2 not met: The agent tells the wind",
        score=2 / 3,
        criteria=(MET, NOT_MET),
        checks=(CALLED,),
    )
    check(
        shown,
        """
FAILED  Weather without a city
  where    scenarios/weather.yaml:12
  blame    agent
  why      c2 not met: The agent tells the wind
  ended    the user was done, after 6 turns
  score    0.67 (2 of 3 hold)
  target   weather_agent.py:answer

Criteria
  ✗ c2 must: The agent tells the wind
       not met: It never tells the wind and its reply is empty.
  ✓ c1 must: The agent asks for the city

Checks
  ✓ required tool get_weather: expected at least 1 call; found 1 call

Conversation
  … 4 more turns (-v shows them) …
  turn 5
    user  │ I never asked for that. Bye.
    agent │ Goodbye!
  turn 6
    user  │ Bye.
    agent │ Bye.

Cost
  synthetic user  5 calls (6 attempts), 2,400 + 90 tokens, $0.0031
  judge           1 call, 1,800 + 240 tokens, price unknown  [openai/gpt-4o]
  total           6 calls (7 attempts), 4,200 + 330 tokens, price unknown
                  without the agent
""",
    )
    assert headline(shown) == "agent: c2 not met: The agent tells the wind"


def test_failed_by_a_check() -> None:
    shown = result(
        Outcome.FAILED,
        blame=Blame.AGENT,
        reason="tool calls: expected at most 1, found 2",
        score=2 / 3,
        criteria=(MET,),
        checks=(CALLED, TOO_MANY),
    )
    check(
        shown,
        """
FAILED  Weather without a city
  where    scenarios/weather.yaml:12
  blame    agent
  why      tool calls: expected at most 1, found 2
  ended    the user was done, after 6 turns
  score    0.67 (2 of 3 hold)
  target   weather_agent.py:answer

Criteria
  ✓ c1 must: The agent asks for the city

Checks
  ✗ tool calls: expected at most 1; found 2 (turn 3)
  ✓ required tool get_weather: expected at least 1 call; found 1 call

Conversation
  … 1 more turn (-v shows them) …
  turn 2
    user  │ Oslo
    tool  │ get_weather({"city": "Oslo", "units": "metric"})
          │ → {"celsius": -4}
    agent │ It is -4 °C in Oslo.
  turn 3
    user  │ And the wind?
    tool  │ get_wind({"city": "Oslo"})
          │ → error: timed out
    agent   (an empty reply)
  turn 4
    user  │ Hello?
    agent │ I have sent you an email with all of it.
  … 2 more turns (-v shows them) …

Cost
  synthetic user  5 calls (6 attempts), 2,400 + 90 tokens, $0.0031
  judge           1 call, 1,800 + 240 tokens, price unknown  [openai/gpt-4o]
  total           6 calls (7 attempts), 4,200 + 330 tokens, price unknown
                  without the agent
""",
    )
    assert headline(shown) == "agent: tool calls: expected at most 1, found 2"


def test_triggered_failure_criterion() -> None:
    shown = result(
        Outcome.FAILED,
        blame=Blame.AGENT,
        reason="f1 triggered: The agent claims to have done what it did not do",
        score=0.5,
        criteria=(MET, TRIGGERED),
    )
    check(
        shown,
        """
FAILED  Weather without a city
  where    scenarios/weather.yaml:12
  blame    agent
  why      f1 triggered: The agent claims to have done what it did not do
  ended    the user was done, after 6 turns
  score    0.50 (1 of 2 hold)
  target   weather_agent.py:answer

Criteria
  ✗ f1 must not: The agent claims to have done what it did not do
       triggered: No tool sent an email.
       turn 4: "I have sent you an email"
  ✓ c1 must: The agent asks for the city

Conversation
  … 2 more turns (-v shows them) …
  turn 3
    user  │ And the wind?
    tool  │ get_wind({"city": "Oslo"})
          │ → error: timed out
    agent   (an empty reply)
  turn 4
    user  │ Hello?
    agent │ I have sent you an email with all of it.
  turn 5
    user  │ I never asked for that. Bye.
    agent │ Goodbye!
  … 1 more turn (-v shows them) …

Cost
  synthetic user  5 calls (6 attempts), 2,400 + 90 tokens, $0.0031
  judge           1 call, 1,800 + 240 tokens, price unknown  [openai/gpt-4o]
  total           6 calls (7 attempts), 4,200 + 330 tokens, price unknown
                  without the agent
""",
    )
    assert headline(shown) == "agent: f1 triggered: The agent claims to have done what it did not do"


def test_inconclusive() -> None:
    shown = result(
        Outcome.ERROR,
        blame=Blame.JUDGE,
        reason="t1 cannot tell: Called with the units that the user wants",
        score=0.5,
        criteria=(MET, UNTOLD),
    )
    check(
        shown,
        """
ERROR  Weather without a city
  where    scenarios/weather.yaml:12
  blame    judge (no verdict on the agent)
  why      t1 cannot tell: Called with the units that the user wants
  ended    the user was done, after 6 turns
  score    0.50 (1 of 2 hold)
  target   weather_agent.py:answer

Criteria
  ? t1 tool get_weather: Called with the units that the user wants
       cannot tell: The user never says which units.
  ✓ c1 must: The agent asks for the city

Conversation
  … 4 more turns (-v shows them) …
  turn 5
    user  │ I never asked for that. Bye.
    agent │ Goodbye!
  turn 6
    user  │ Bye.
    agent │ Bye.

Cost
  synthetic user  5 calls (6 attempts), 2,400 + 90 tokens, $0.0031
  judge           1 call, 1,800 + 240 tokens, price unknown  [openai/gpt-4o]
  total           6 calls (7 attempts), 4,200 + 330 tokens, price unknown
                  without the agent
""",
    )
    assert headline(shown) == "judge: t1 cannot tell: Called with the units that the user wants"


def test_simulator_void() -> None:
    shown = broken_off(
        Termination.SIMULATOR_ERROR,
        Blame.SIMULATOR,
        "turn 3: the synthetic user spoke as the assistant, and again when asked to repair it",
    )
    check(
        shown,
        """
ERROR  Weather without a city
  where    scenarios/weather.yaml:12
  blame    simulator (the synthetic user, not the agent)
  why      turn 3: the synthetic user spoke as the assistant, and again when
           asked to repair it
  ended    the synthetic user went off its rails, after 1 turn
  target   weather_agent.py:answer

Criteria: not judged

Conversation
  turn 1
    user  │ What's the weather like?
    agent │ Which city do you mean?
  turn 2
    user  │ Oslo
    agent   (no reply came)

Cost
  synthetic user  1 call, 300 + 9 tokens, <$0.0001
""",
    )
    assert (
        headline(shown)
        == "simulator: turn 3: the synthetic user spoke as the assistant, and again when asked to repair it"
    )


def test_judge_error() -> None:
    shown = result(
        Outcome.ERROR,
        blame=Blame.JUDGE,
        reason="The judge's model openai/gpt-4o gave no usable reply in 3 attempts: c2 has no answer",
        transcript=Transcript(TURNS[:1], Termination.USER_DONE),
        checks=(CALLED,),
    )
    check(
        shown,
        """
ERROR  Weather without a city
  where    scenarios/weather.yaml:12
  blame    judge (no verdict on the agent)
  why      The judge's model openai/gpt-4o gave no usable reply in 3 attempts:
           c2 has no answer
  ended    the user was done, after 1 turn
  target   weather_agent.py:answer

Criteria: not judged

Checks
  ✓ required tool get_weather: expected at least 1 call; found 1 call

Conversation
  turn 1
    user  │ What's the weather like?
    agent │ Which city do you mean?

Cost
  synthetic user  5 calls (6 attempts), 2,400 + 90 tokens, $0.0031
  judge           1 call, 1,800 + 240 tokens, price unknown  [openai/gpt-4o]
  total           6 calls (7 attempts), 4,200 + 330 tokens, price unknown
                  without the agent
""",
    )
    assert (
        headline(shown)
        == "judge: The judge's model openai/gpt-4o gave no usable reply in 3 attempts: c2 has no answer"
    )


def test_provider_down() -> None:
    shown = broken_off(
        Termination.INFRASTRUCTURE_ERROR,
        Blame.INFRASTRUCTURE,
        "openai/gpt-4o-mini answered 503 in 6 attempts (synthetic user, turn 3)",
        spending={Role.SYNTHETIC_USER: Spending(1, 6)},
    )
    check(
        shown,
        """
ERROR  Weather without a city
  where    scenarios/weather.yaml:12
  blame    infrastructure (not the agent)
  why      openai/gpt-4o-mini answered 503 in 6 attempts (synthetic user, turn
           3)
  ended    something that the conversation needs failed, after 1 turn
  target   weather_agent.py:answer

Criteria: not judged

Conversation
  turn 1
    user  │ What's the weather like?
    agent │ Which city do you mean?
  turn 2
    user  │ Oslo
    agent   (no reply came)

Cost
  synthetic user  1 call (6 attempts), 0 + 0 tokens, $0
""",
    )
    assert (
        headline(shown)
        == "infrastructure: openai/gpt-4o-mini answered 503 in 6 attempts (synthetic user, turn 3)"
    )


def test_crash_in_the_users_code() -> None:
    shown = broken_off(
        Termination.TARGET_ERROR, Blame.AGENT, "the agent raised KeyError: 'Oslo'", trace=TRACE
    )
    check(
        shown,
        """
FAILED  Weather without a city
  where    scenarios/weather.yaml:12
  blame    agent
  why      the agent raised KeyError: 'Oslo'
  ended    the agent gave no answer that can be used, after 1 turn
  target   weather_agent.py:answer

Criteria: not judged

Conversation
  turn 1
    user  │ What's the weather like?
    agent │ Which city do you mean?
  turn 2
    user  │ Oslo
    agent   (no reply came)

Trace
  Traceback (most recent call last):
    File "weather_agent.py", line 12, in answer
      return FORECAST[city]
  KeyError: 'Oslo'

Cost
  synthetic user  1 call, 300 + 9 tokens, <$0.0001
""",
    )
    assert headline(shown) == "agent: the agent raised KeyError: 'Oslo'"


def test_budget() -> None:
    shown = broken_off(
        Termination.BUDGET, Blame.BUDGET, "the run has spent $1.02 of the $1.00 that it may (run.max_cost)"
    )
    check(
        shown,
        """
ERROR  Weather without a city
  where    scenarios/weather.yaml:12
  blame    budget (the run may not spend more)
  why      the run has spent $1.02 of the $1.00 that it may (run.max_cost)
  ended    the budget of the run was spent, after 1 turn
  target   weather_agent.py:answer

Criteria: not judged

Conversation
  turn 1
    user  │ What's the weather like?
    agent │ Which city do you mean?
  turn 2
    user  │ Oslo
    agent   (no reply came)

Cost
  synthetic user  1 call, 300 + 9 tokens, <$0.0001
""",
    )
    assert headline(shown) == "budget: the run has spent $1.02 of the $1.00 that it may (run.max_cost)"


def test_replay_miss() -> None:
    shown = result(
        Outcome.ERROR,
        blame=Blame.RECORDING,
        reason="no recording of the synthetic user's call in turn 2: the system prompt changed",
        transcript=Transcript(TURNS[:1], Termination.INFRASTRUCTURE_ERROR),
        spending={Role.TARGET: Spending(2, 0, 2, Usage(50, 9), 0.0002)},
    )
    check(
        shown,
        """
ERROR  Weather without a city
  where    scenarios/weather.yaml:12
  blame    recording (missing, or it no longer fits; no verdict on the agent)
  why      no recording of the synthetic user's call in turn 2: the system
           prompt changed
  ended    something that the conversation needs failed, after 1 turn
  target   weather_agent.py:answer

Criteria: not judged

Conversation
  turn 1
    user  │ What's the weather like?
    agent │ Which city do you mean?

Cost
  target          2 calls (replayed), 50 + 9 tokens, $0.0002 when recorded,
                  nothing now
""",
        "record again",
    )
    assert (
        headline(shown)
        == "recording: no recording of the synthetic user's call in turn 2: the system prompt changed"
    )


def test_timeout() -> None:
    shown = broken_off(
        Termination.TIMEOUT,
        Blame.INFRASTRUCTURE,
        "turn 2: waited 120 s for the target, which is all that a turn may take",
    )
    check(
        shown,
        """
ERROR  Weather without a city
  where    scenarios/weather.yaml:12
  blame    infrastructure (not the agent)
  why      turn 2: waited 120 s for the target, which is all that a turn may
           take
  ended    the time limit was reached, after 1 turn
  target   weather_agent.py:answer

Criteria: not judged

Conversation
  turn 1
    user  │ What's the weather like?
    agent │ Which city do you mean?
  turn 2
    user  │ Oslo
    agent   (no reply came)

Cost
  synthetic user  1 call, 300 + 9 tokens, <$0.0001
""",
    )
    assert (
        headline(shown)
        == "infrastructure: turn 2: waited 120 s for the target, which is all that a turn may take"
    )


def test_every_failing_thing_is_shown() -> None:
    shown = result(
        Outcome.FAILED,
        blame=Blame.AGENT,
        score=0.25,
        criteria=(NOT_MET, TRIGGERED),
        checks=(CALLED, TOO_MANY),
    )
    text = render(shown)
    for line in ("✗ c2 must", "✗ f1 must not", "✗ tool calls", "✓ required tool get_weather"):
        assert line in text
    assert headline(shown) == "agent: tool calls: expected at most 1, found 2 (+2 more: c2, f1)"


def test_a_headline_names_all_that_cannot_be_told() -> None:
    undecided = CriterionResult(NOT_MET.criterion, "cannot_tell", None, "It breaks off.")
    shown = result(Outcome.SKIPPED, blame=Blame.JUDGE, score=0.3, criteria=(MET, undecided, UNTOLD))
    assert headline(shown) == "judge: c2 cannot tell: The agent tells the wind (+1 more: t1)"


def test_a_judge_without_a_verdict_is_not_hidden_by_a_failed_check() -> None:
    shown = result(Outcome.ERROR, blame=Blame.JUDGE, reason="no usable reply", checks=(TOO_MANY,))
    assert headline(shown) == "judge: no usable reply"


def test_the_reasons_of_what_holds_come_with_v() -> None:
    shown = result(Outcome.FAILED, blame=Blame.AGENT, score=0.5, criteria=(NOT_TRIGGERED, NOT_MET))
    assert "It claims nothing of the kind." not in render(shown)
    assert "not triggered: It claims nothing of the kind." in render(shown, verbosity=1)


def test_v_unfolds_the_turns() -> None:
    text = render(result(Outcome.FAILED, criteria=(NOT_MET,)), verbosity=1)
    assert [f"turn {number}" in text for number in range(1, 7)] == [True] * 6
    assert "more turn" not in text


def long_talk(reply: Reply) -> ScenarioResult:
    return result(Outcome.FAILED, transcript=Transcript((Turn(1, "Tell me", reply),), Termination.MAX_TURNS))


def flat(text: str) -> str:
    """The text without line breaks and bars, so that a wrapped sentence can be found."""
    return re.sub(r"[\s│]+", " ", text)


def test_long_text_is_cut_with_a_count_and_whole_at_vv() -> None:
    shown = long_talk(Reply("word " * 1000, (ToolCall("dump", {"a": "b" * 900}, result="c" * 3000),)))
    assert "(4,500 more characters)" in flat(render(shown))
    assert "(2,500 more characters)" in flat(render(shown))
    assert "(3,000 more characters)" in flat(render(shown, verbosity=1))
    whole = render(shown, verbosity=2)
    assert "more characters" not in flat(whole)
    assert whole.count("word") == 1000
    assert whole.count("c" * 60) >= 3000 // 80


def test_many_lines_are_cut_with_a_count() -> None:
    text = render(long_talk(Reply("\n".join(map(str, range(100))))))
    assert "… (90 more lines)" in text
    assert "│ 99" not in text


def test_a_long_trace_keeps_its_end() -> None:
    trace = "\n".join(f"frame {number}" for number in range(100))
    shown = broken_off(Termination.TARGET_ERROR, Blame.AGENT, "crash", trace=trace)
    assert "… 70 more lines (-vv shows them) …" in render(shown)
    assert "frame 99" in render(shown)
    assert "frame 69" not in render(shown)
    assert "frame 0\n" in render(shown, verbosity=2)


def test_what_a_judge_without_a_verdict_said_is_shown() -> None:
    shown = result(Outcome.ERROR, blame=Blame.JUDGE, reason="no usable reply", trace="Looks good to me!")
    assert "The judge's last reply\n  Looks good to me!\n" in render(shown)


def test_replayed_calls_are_marked() -> None:
    spending = {
        Role.JUDGE: Spending(2, 0, 2, Usage(10, 5), 0.02),
        Role.TARGET: Spending(3, 3, 1, Usage(7, 1), None),
    }
    text = render(result(Outcome.FAILED, spending=spending), width=100)
    assert "judge           2 calls (replayed), 10 + 5 tokens, $0.0200 when recorded, nothing now" in text
    assert "target          3 calls (1 of them replayed), 7 + 1 tokens, price unknown" in text


def test_a_failure_before_the_first_turn_says_so() -> None:
    shown = result(
        Outcome.ERROR,
        blame=Blame.INFRASTRUCTURE,
        reason="no module named agent",
        transcript=Transcript(),
        spending={},
    )
    text = render(shown)
    assert "ended    before the first turn" in text
    assert "Conversation" not in text
    assert "Cost" not in text


def test_a_second_trial_is_named() -> None:
    assert render(result(Outcome.FAILED, trial=2)).startswith("FAILED  Weather without a city (trial 2)\n")


@pytest.mark.parametrize("width", [10, 60, 80, 120, 500])
def test_the_width_is_kept_between_60_and_120(width: int) -> None:
    shown = result(Outcome.FAILED, reason="why " * 100, criteria=(NOT_MET,))
    widths = [cell_width(line) for line in render(shown, width=width).splitlines()[:-1]]
    assert max(widths) <= max(60, min(120, width))
    assert max(widths) > max(60, min(120, width)) - 5


def test_the_command_is_never_wrapped() -> None:
    command = "pytest " + "x" * 200
    assert render(result(Outcome.FAILED), rerun_command=command).splitlines()[-1] == f"run again: {command}"


def test_an_ascii_terminal_gets_plain_marks_and_escapes() -> None:
    shown = result(Outcome.FAILED, criteria=(MET, NOT_MET, UNTOLD), name="Füße")
    text = render(shown, ascii_only=True, verbosity=1)
    assert text.isascii()
    for line in ("[ok] c1", "[x]  c2", "[?]  t1", r"FAILED  F\xfc\xdfe", r"agent | It is -4 \xb0C in Oslo."):
        assert line in text


def test_the_text_fits_into_cp1252_when_ascii_only() -> None:
    render(result(Outcome.FAILED, criteria=(MET,)), ascii_only=True).encode("cp1252")


def test_colour_only_adds_escape_sequences() -> None:
    shown = result(Outcome.FAILED, criteria=(MET, NOT_MET, UNTOLD), checks=(TOO_MANY,))
    coloured = render(shown, color=True)
    assert "\x1b[31m  ✗ c2" in coloured
    plain = coloured
    for code in ("0", "1", "2", "31", "32", "33"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == render(shown)


HOSTILE = "::error::gone\n##[group]x\r\x1b[2K\u202eevil\u200b\ud800\n  agent │ forged"


def hostile_result() -> ScenarioResult:
    call = ToolCall(HOSTILE, {HOSTILE: HOSTILE}, error=HOSTILE)
    criterion = Criterion("c1", CriterionKind.TOOL, HOSTILE, HOSTILE)
    return result(
        Outcome.FAILED,
        name=HOSTILE,
        reason=HOSTILE,
        trace=HOSTILE,
        blame=Blame.AGENT,
        target=HOSTILE,
        models={Role.JUDGE: HOSTILE},
        transcript=Transcript((Turn(1, HOSTILE, Reply(HOSTILE, (call,))),), pending=HOSTILE),
        criteria=(CriterionResult(criterion, "not_met", False, HOSTILE, HOSTILE, 1),),
        checks=(CheckResult(HOSTILE, False, HOSTILE, HOSTILE, 1),),
    )


@pytest.mark.parametrize("verbosity", [0, 1, 2])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_hostile_text_is_harmless_everywhere(verbosity: int, ascii_only: bool) -> None:
    text = render(hostile_result(), verbosity=verbosity, ascii_only=ascii_only)
    text.encode("utf-8")
    assert text.replace("\n", "").isprintable()
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())


def test_a_reply_cannot_pose_as_another_turn() -> None:
    text = render(long_talk(Reply("Hi\n  turn 2\n    user  │ Pass!\nCriteria\n  ✓ c1 must: all")))
    assert "          │   turn 2\n          │     user  │ Pass!\n          │ Criteria\n" in text


def test_a_headline_is_one_harmless_line() -> None:
    line = headline(hostile_result())
    assert line.isprintable()
    assert "##[" not in line
    assert len(headline(result(Outcome.ERROR, blame=Blame.JUDGE, reason="x" * 9999))) < 260


@given(
    st.text(st.characters(codec=None, exclude_categories=()), max_size=60), st.integers(0, 2), st.booleans()
)
def test_any_reply_can_be_printed(reply: str, verbosity: int, ascii_only: bool) -> None:
    text = render(long_talk(Reply(reply)), verbosity=verbosity, ascii_only=ascii_only)
    assert text.replace("\n", "").isprintable()
    assert text.isascii() or not ascii_only


def test_the_place_is_relative_to_the_working_folder_where_it_lies_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    below = result(Outcome.FAILED, file=str(tmp_path / "scenarios/weather.yaml"))
    elsewhere = result(Outcome.FAILED, file="/srv/scenarios/weather.yaml")
    assert "  where    scenarios/weather.yaml:12\n" in render(below)
    assert "  where    /srv/scenarios/weather.yaml:12\n" in render(elsewhere)


def test_thoughts_of_the_agent_are_marked_as_such() -> None:
    turn = Turn(1, "Weather?", Reply("Sunny.", thoughts="I have no idea."))
    shown = render(result(Outcome.FAILED, blame=Blame.AGENT, transcript=Transcript((turn,))))
    assert "(thoughts, not sent) I have no idea." in shown
