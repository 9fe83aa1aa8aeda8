from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, ScenarioError
from pytest_convoprobe.judging.checks import run_checks
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Transcript, Usage

from .support import call, calling, evaluation, talk

OSLO = call("get_weather", city="Oslo", units="metric")
BERGEN = call("get_weather", city="Bergen", units="metric")


def assertion(tool: str, **assertions: Any) -> dict[str, Any]:
    return {"tool_call_criteria": [{"tool": tool, "assertions": [assertions]}]}


def check(transcript: Transcript, **tool_usage: Any) -> CheckResult:
    """The only check of these."""
    (result,) = run_checks(evaluation(tool_usage=tool_usage), transcript)
    return result


def limit(transcript: Transcript, **efficiency: Any) -> CheckResult:
    (result,) = run_checks(evaluation(efficiency=efficiency), transcript)
    return result


def test_nothing_asked_is_nothing_checked() -> None:
    assert run_checks(evaluation(), calling([OSLO])) == ()


def test_a_required_tool_that_is_called_holds() -> None:
    assert check(calling([], [OSLO], [OSLO]), required_tools=["get_weather"]) == CheckResult(
        "required tool get_weather", True, "at least 1 call", "2 calls", 2
    )


def test_a_required_tool_that_is_never_called_fails() -> None:
    assert check(calling([OSLO]), required_tools=["get_wind"]) == CheckResult(
        "required tool get_wind", False, "at least 1 call", "no call", None
    )


def test_a_prohibited_tool_that_is_called_fails_with_the_call() -> None:
    mail = call("send_email", to="me")
    assert check(calling([], [mail]), prohibited_tools=["send_email"]) == CheckResult(
        "prohibited tool send_email", False, "no call", '1 call: send_email({"to": "me"})', 2
    )


def test_a_prohibited_tool_that_fails_counts_as_called() -> None:
    refused = ToolCall("send_email", error="not allowed")
    assert not check(calling([refused]), prohibited_tools=["send_email"]).holds


def test_a_prohibited_tool_that_is_not_called_holds() -> None:
    assert check(calling([OSLO]), prohibited_tools=["send_email"]).holds


def test_optional_tools_never_fail() -> None:
    optional = evaluation(tool_usage={"optional_tools": ["get_wind"]})
    assert run_checks(optional, calling([OSLO])) == ()


@pytest.mark.parametrize(
    ("bounds", "expected", "holds", "turn"),
    [
        ({"times": 2}, "exactly 2", True, None),
        ({"times": 1}, "exactly 1", False, 3),
        ({"times": 3}, "exactly 3", False, None),
        ({"times": 0}, "exactly 0", False, 1),
        ({"at_least": 2}, "at least 2", True, None),
        ({"at_least": 3}, "at least 3", False, None),
        ({"at_most": 2}, "at most 2", True, None),
        ({"at_most": 1}, "at most 1", False, 3),
        ({"at_least": 1, "at_most": 2}, "at least 1, at most 2", True, None),
    ],
)
def test_the_number_of_calls(bounds: dict[str, int], expected: str, holds: bool, turn: int | None) -> None:
    transcript = calling([OSLO], [call("other")], [BERGEN])
    assert check(transcript, **assertion("get_weather", **bounds)) == CheckResult(
        "get_weather: number of calls", holds, expected, "2 calls", turn
    )


def test_one_call_must_satisfy_all_arguments_together() -> None:
    mixed = calling([call("f", a=1, b=2), call("f", a=3, b=4)])
    assert check(mixed, **assertion("f", args={"a": 3, "b": 4})).holds
    assert not check(mixed, **assertion("f", args={"a": 1, "b": 4})).holds


def test_wrong_arguments_show_the_nearest_call() -> None:
    transcript = calling([call("get_weather", city="Bergen")], [BERGEN])
    result = check(transcript, **assertion("get_weather", args={"city": "Oslo", "units": "metric"}))
    assert result == CheckResult(
        "get_weather: arguments",
        False,
        'a call with city = "Oslo" and units = "metric"',
        "0 of 2 calls like that; the nearest is "
        'get_weather({"city": "Bergen", "units": "metric"}), where city is "Bergen"',
        2,
    )


def test_wrong_arguments_of_the_only_call_show_it() -> None:
    result = check(calling([BERGEN]), **assertion("get_weather", args={"city": "Oslo"}))
    assert result.found == 'get_weather({"city": "Bergen", "units": "metric"}), where city is "Bergen"'


def test_arguments_of_a_tool_that_is_never_called_fail() -> None:
    result = check(calling([]), **assertion("get_weather", args={"city": "Oslo"}))
    assert (result.holds, result.found) == (False, "no call")


def test_every_call_must_satisfy_the_arguments_when_asked() -> None:
    result = check(calling([OSLO], [BERGEN]), **assertion("get_weather", every=True, args={"city": "Oslo"}))
    assert not result.holds
    assert result.expected == 'every call with city = "Oslo"'
    assert result.found.startswith("1 of 2 calls like that; the nearest is ")
    assert result.turn == 2


def test_every_call_of_none_holds() -> None:
    assert check(calling([]), **assertion("get_weather", every=True, args={"city": "Oslo"})).holds


ARGUMENTS = {
    "n": 5,
    "yes": True,
    "nothing": None,
    "city": "Oslo, Norway",
    "list": ["a", 2, {"k": 1}],
    "place": {"city": "Oslo", "at": [59.9, 10.7]},
    "dotted.name": "x",
}


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("n", 5),
        ("n", 5.0),
        ("yes", True),
        ("nothing", {"equals": None}),
        ("city", {"contains": "Norway"}),
        ("city", {"matches": "^Oslo"}),
        ("city", {"contains": "Oslo", "matches": "y$"}),
        ("n", {"matches": "^5$"}),
        ("list", {"contains": 2.0}),
        ("list", {"contains": {"k": 1}}),
        ("list", {"equals": ["a", 2, {"k": 1}]}),
        ("list.0", "a"),
        ("list.2.k", 1),
        ("place", {"contains": "city"}),
        ("place", {"equals": {"at": [59.9, 10.7], "city": "Oslo"}}),
        ("place.city", "Oslo"),
        ("place.at.1", 10.7),
        ("dotted.name", "x"),
    ],
)
def test_a_condition_that_holds(name: str, condition: Any) -> None:
    transcript = calling([ToolCall("f", ARGUMENTS)])
    assert check(transcript, **assertion("f", args={name: condition})).holds


@pytest.mark.parametrize(
    ("name", "condition", "problem"),
    [
        ("n", 6, "n is 5"),
        ("n", True, "n is 5"),
        ("n", "5", "n is 5"),
        ("yes", 1, "yes is true"),
        ("n", {"contains": 5}, "n is 5"),
        ("missing", {"equals": None}, "missing is missing"),
        ("city", {"contains": "Sweden"}, 'city is "Oslo, Norway"'),
        ("city", {"matches": "^Norway"}, 'city is "Oslo, Norway"'),
        ("city", {"contains": "Oslo", "matches": "^x"}, 'city is "Oslo, Norway"'),
        ("list.9", "a", "list.9 is missing"),
        ("list", {"contains": True}, 'list is ["a", 2, {"k": 1}]'),
        ("place.country", "Norway", "place.country is missing"),
        ("place", {"contains": "country"}, 'place is {"city": "Oslo", "at": [59.9, 10.7]}'),
    ],
)
def test_a_condition_that_does_not_hold_says_what_was_found(name: str, condition: Any, problem: str) -> None:
    result = check(calling([ToolCall("f", ARGUMENTS)]), **assertion("f", args={name: condition}))
    assert not result.holds
    assert result.found.endswith(f", where {problem}")


def test_conditions_in_words() -> None:
    args = {"city": {"contains": "Os", "matches": "o$"}, "n": 1}
    result = check(calling([]), **assertion("f", args=args))
    assert result.expected == 'a call with city contains "Os" and city matches /o$/ and n = 1'


A, B = call("a"), call("b")


@pytest.mark.parametrize(
    ("turns", "before", "after"),
    [
        ([[A], [B]], True, False),
        ([[A, B]], True, False),
        ([[B, A]], False, True),
        ([[B], [A], [B]], False, True),
        ([[A]], True, False),
        ([[B]], False, True),
        ([[]], True, True),
    ],
)
def test_the_order_of_first_calls(turns: list[list[ToolCall]], before: bool, after: bool) -> None:
    transcript = calling(*turns)
    assert check(transcript, **assertion("a", before="b")).holds == before
    assert check(transcript, **assertion("a", after="b")).holds == after


def test_a_wrong_order_is_told() -> None:
    assert check(calling([B], [A]), **assertion("a", before="b")) == CheckResult(
        "a: before b", False, "its first call before the first call of b", "b in turn 1, then a in turn 2", 1
    )
    assert check(calling([A]), **assertion("a", after="b")).found == "a in turn 1; no call of b"


def test_each_part_of_an_assertion_is_a_check_of_its_own() -> None:
    asked = evaluation(tool_usage=assertion("a", times=1, args={"x": 1}, before="b", after="c"))
    names = [result.name for result in run_checks(asked, calling([A]))]
    assert names == ["a: number of calls", "a: arguments", "a: before b", "a: after c"]


def test_sentences_are_left_to_the_judge() -> None:
    asked = evaluation(tool_usage={"tool_call_criteria": [{"tool": "a", "assertions": ["Called well"]}]})
    assert run_checks(asked, calling([A])) == ()


def test_too_many_tool_calls_show_where_it_was_crossed() -> None:
    transcript = calling([A], [A, B], [B])
    assert limit(transcript, max_tool_calls=2) == CheckResult("tool calls", False, "at most 2", "4", 2)
    assert limit(transcript, max_tool_calls=4) == CheckResult("tool calls", True, "at most 4", "4", None)


def test_too_many_turns_show_where_it_was_crossed() -> None:
    assert limit(calling([], [], []), max_conversation_turns=2) == CheckResult(
        "turns", False, "at most 2", "3", 3
    )


def test_too_many_tokens_show_where_it_was_crossed() -> None:
    transcript = talk(*(("Hi", Reply("Hello", usage=Usage(400, 200))) for _ in range(3)))
    assert limit(transcript, max_llm_tokens=1000) == CheckResult(
        "tokens of the agent", False, "at most 1,000", "1,800", 2
    )
    assert limit(transcript, max_llm_tokens=1800).holds


def test_a_target_that_tells_no_tokens_is_an_error_of_the_scenario() -> None:
    with pytest.raises(ScenarioError) as caught:
        limit(talk(("Hi", "Hello")), max_llm_tokens=1000)
    assert caught.value.blame is Blame.SCENARIO
    assert "efficiency.max_llm_tokens cannot be checked" in str(caught.value)
    assert "does not report its tokens in any turn" in str(caught.value)
    assert "Reply(text, usage=Usage(...))" in str(caught.value)


def test_a_target_that_is_silent_about_one_turn_is_named_with_the_turn() -> None:
    transcript = talk(("Hi", Reply("Hello", usage=Usage(1, 1))), ("Bye", Reply("Bye")))
    with pytest.raises(ScenarioError, match="does not report its tokens in turn 2"):
        limit(transcript, max_llm_tokens=1000)


@pytest.mark.parametrize(
    ("sections", "key"),
    [
        ({"tool_usage": {"required_tools": ["a"]}}, "tool_usage.required_tools"),
        ({"tool_usage": {"prohibited_tools": ["a"]}}, "tool_usage.prohibited_tools"),
        ({"tool_usage": assertion("a", times=1)}, "tool_usage.tool_call_criteria"),
        (
            {"tool_usage": {"tool_call_criteria": [{"tool": "a", "assertions": ["Called well"]}]}},
            "tool_usage.tool_call_criteria",
        ),
        ({"efficiency": {"max_tool_calls": 3}}, "efficiency.max_tool_calls"),
    ],
)
def test_a_target_that_tells_no_tools_is_an_error_of_the_scenario(sections: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        run_checks(evaluation(**sections), talk(("Hi", Reply("Hello", tool_calls=None))))
    assert str(caught.value).startswith(f"{key} cannot be checked: the target does not report its tool calls")
    assert "Reply(text, tool_calls=[...])" in str(caught.value)


def test_several_keys_that_cannot_be_checked_are_listed() -> None:
    usage = {"required_tools": ["a"], "prohibited_tools": ["b"]}
    with pytest.raises(ScenarioError) as caught:
        run_checks(
            evaluation(tool_usage=usage, efficiency={"max_tool_calls": 3}),
            talk(("Hi", Reply("Hello", tool_calls=None))),
        )
    assert str(caught.value).startswith(
        "tool_usage.required_tools, tool_usage.prohibited_tools and efficiency.max_tool_calls cannot be "
    )


def test_one_turn_without_its_tool_calls_is_an_error_that_names_it() -> None:
    asked = evaluation(tool_usage={"prohibited_tools": ["a"]})
    turns = talk(("Hi", Reply("Hello", ())), ("Go on", Reply("Done", tool_calls=None)))
    with pytest.raises(ScenarioError, match="does not report its tool calls in turn 2"):
        run_checks(asked, turns)


def test_a_target_that_tells_no_tools_may_have_optional_ones() -> None:
    optional = evaluation(tool_usage={"optional_tools": ["a"]})
    assert run_checks(optional, talk(("Hi", Reply("Hello", tool_calls=None)))) == ()


def test_without_a_single_turn_the_limits_hold_and_required_tools_do_not() -> None:
    asked = evaluation(
        tool_usage={"required_tools": ["a"]},
        efficiency={"max_tool_calls": 1, "max_llm_tokens": 1, "max_conversation_turns": 1},
    )
    assert [result.holds for result in run_checks(asked, Transcript())] == [False, True, True, True]


# What counts as a use

FAILED = ToolCall("book", {"room": 1}, error="the hotel is closed")
REFUSED = ToolCall("book", {"room": 1}, error="there is no tool `book`", executed=False)
BOOKED = call("book", room=1)


@pytest.mark.parametrize("nothing", [FAILED, REFUSED])
@pytest.mark.parametrize(
    "asked",
    [
        {"required_tools": ["book"]},
        assertion("book", times=1),
        assertion("book", at_least=1),
        assertion("book", args={"room": 1}),
        assertion("book", before="pay"),
    ],
)
def test_a_call_that_did_nothing_is_not_a_use(asked: dict[str, Any], nothing: ToolCall) -> None:
    assert not check(calling([nothing, call("pay")]), **asked).holds
    assert check(calling([nothing], [BOOKED, call("pay")]), **asked).holds


@pytest.mark.parametrize("nothing", [FAILED, REFUSED])
def test_what_has_to_come_first_must_have_worked(nothing: ToolCall) -> None:
    assert not check(calling([nothing, call("pay")]), **assertion("pay", after="book")).holds
    assert check(calling([nothing, BOOKED, call("pay")]), **assertion("pay", after="book")).holds


@pytest.mark.parametrize("nothing", [FAILED, REFUSED])
@pytest.mark.parametrize(
    "asked",
    [
        {"prohibited_tools": ["book"]},
        {"only_listed": True},
        assertion("book", times=0),
        assertion("book", at_most=0),
        assertion("book", after="ask"),
        assertion("ask", before="book"),
        assertion("book", every=True, args={"room": 2}),
    ],
)
def test_an_attempt_breaks_a_prohibition(asked: dict[str, Any], nothing: ToolCall) -> None:
    assert not check(calling([nothing], [call("ask")]), **asked).holds


def test_failed_calls_count_where_the_scenario_says_so() -> None:
    asked = {"required_tools": ["book"], "count_failed_calls": True}
    assert check(calling([FAILED]), **asked).holds
    assert not check(calling([REFUSED]), **asked).holds


def test_calls_that_did_nothing_are_shown_as_such() -> None:
    found = check(calling([FAILED, REFUSED], [FAILED]), required_tools=["book"])
    assert found.found == "3 calls (2 failed, 1 not carried out)"


# Patterns


def test_patterns_match_names_of_tools() -> None:
    delete = call("mcp__shop__delete_order", id=7)
    assert not check(calling([delete]), prohibited_tools=["mcp__shop__delete_*"]).holds
    assert check(calling([delete]), required_tools=["*delete_order"]).holds
    assert check(calling([delete]), **assertion("mcp__*", times=1)).holds
    assert check(calling([call("ask"), delete]), **assertion("mcp__*", after="as[jk]")).holds


def test_upper_and_lower_case_are_different_tools_where_the_tools_are_known() -> None:
    usage = evaluation(tool_usage={"prohibited_tools": ["delete_*"]})
    (result,) = run_checks(usage, calling([call("DELETE_all")]), ["DELETE_all", "delete_one"])
    assert result.holds


def test_only_listed_forbids_every_other_tool() -> None:
    listed = {"only_listed": True, "optional_tools": ["get_*"], "required_tools": ["send_email"]}
    transcript = calling([OSLO, call("send_email")], [call("pay", sum=3)])
    (_, result) = run_checks(evaluation(tool_usage=listed), transcript)
    assert result == CheckResult(
        "only the listed tools", False, "no tool but send_email, get_*", '1 call: pay({"sum": 3})', 2
    )
    (_, fine) = run_checks(evaluation(tool_usage=listed), calling([OSLO, call("send_email")]))
    assert fine.holds


# Names that match nothing


@pytest.mark.parametrize(
    ("listed", "called"),
    [
        ("delete_order", "deleteOrder"),
        ("delete_order", "mcp__shop__delete_order"),
        ("mcp__shop__delete_*", "delete_order"),
        ("Delete-Order", "delete_order"),
    ],
)
@pytest.mark.parametrize("key", ["prohibited_tools", "required_tools"])
def test_a_name_that_is_only_spelled_otherwise_is_an_error(key: str, listed: str, called: str) -> None:
    with pytest.raises(ScenarioError, match="did you mean that") as caught:
        check(calling([call(called)]), **{key: [listed]})
    assert f"`{called}`" in str(caught.value)


def test_a_prohibited_tool_that_does_not_exist_is_said_not_to_fail() -> None:
    usage = {"prohibited_tools": ["launch_rocket"]}
    (result,) = run_checks(evaluation(tool_usage=usage), calling([OSLO]), ["get_weather"])
    assert result.holds
    assert result.found == "no call; the target has no such tool, so this can't fail"


# Silence


@pytest.mark.parametrize("text", ["", "  \n", "\u200b", "\ufeff \u00ad", "\u2800", "\u3164"])
def test_an_agent_that_is_silent_in_every_turn_fails(text: str) -> None:
    (result,) = run_checks(evaluation(), talk(("Hi", Reply(text)), ("Hello?", Reply(text, (OSLO,)))))
    assert result == CheckResult(
        "the agent says something", False, "a reply with text", "empty replies in every turn", 1
    )


@pytest.mark.parametrize("text", ["Hello", "7", "👍", "..."])
def test_an_agent_that_speaks_once_is_not_silent(text: str) -> None:
    assert run_checks(evaluation(), talk(("Hi", Reply("")), ("Hello?", Reply(text)))) == ()


def test_arguments_that_are_not_reported_are_not_wrong_ones() -> None:
    bare = ToolCall("book", unreported=("arguments", "result"))
    with pytest.raises(ScenarioError, match="does not report the arguments of its call of book in turn 1"):
        check(calling([bare]), **assertion("book", args={"room": 1}))
    assert check(calling([bare]), required_tools=["book"]).holds


def test_arguments_that_were_cut_decide_nothing() -> None:
    long = ToolCall("search", {"text": "some … of it"}, cut=("arguments",))
    for condition in ({"matches": "some"}, {"matches": "^some"}, {"equals": "other"}):
        with pytest.raises(ScenarioError, match=r"longer than `run\.max_text`") as caught:
            check(calling([long]), **assertion("search", args={"text": condition}))
        assert caught.value.remedies == ("run.max_text",)
    assert check(calling([long]), required_tools=["search"]).holds


# Turns

LATE = calling([], [OSLO], [BERGEN])
"""Oslo in turn 2 and Bergen in turn 3."""


@pytest.mark.parametrize(
    ("asked", "name", "holds", "found", "turn"),
    [
        ({"by_turn": 2}, "called by turn 2", True, "1 call", 2),
        ({"by_turn": 1}, "called by turn 1", False, "no call by turn 1; there is one in turn 2", 2),
        ({"in_turn": 3}, "called in turn 3", True, "1 call", 3),
        ({"in_turn": 1}, "called in turn 1", False, "no call in turn 1; there is one in turn 2", 2),
        ({"not_before_turn": 2}, "not before turn 2", True, "no call", None),
        (
            {"not_before_turn": 3},
            "not before turn 3",
            False,
            '1 call, the first in turn 2: get_weather({"city": "Oslo", "units": "metric"})',
            2,
        ),
        ({"by_turn": 2, "times": 1}, "number of calls by turn 2", True, "1 call", None),
        ({"by_turn": 2, "times": 2}, "number of calls by turn 2", False, "1 call", None),
        ({"in_turn": 3, "at_most": 0}, "number of calls in turn 3", False, "1 call", 3),
        ({"in_turn": 1, "times": 0}, "number of calls in turn 1", True, "no call", None),
        ({"by_turn": 2, "args": {"city": "Oslo"}}, "arguments by turn 2", True, "1 of 1 call like that", 2),
        (
            {"by_turn": 2, "args": {"city": "Bergen"}},
            "arguments by turn 2",
            False,
            'get_weather({"city": "Oslo", "units": "metric"}), where city is "Oslo"',
            2,
        ),
    ],
)
def test_a_check_is_bound_to_a_turn(
    asked: dict[str, Any], name: str, holds: bool, found: str, turn: int | None
) -> None:
    result = check(LATE, **assertion("get_weather", **asked))
    assert (result.name, result.holds) == (f"get_weather: {name}", holds)
    assert (result.found, result.turn) == (found, turn)


def test_a_failed_call_is_too_early_and_is_no_use() -> None:
    failed = ToolCall("get_weather", error="no service")
    assert not check(calling([failed], [OSLO]), **assertion("get_weather", not_before_turn=2)).holds
    assert not check(calling([failed], [OSLO]), **assertion("get_weather", by_turn=1)).holds


def test_a_conversation_that_ended_before_the_deadline_had_its_chance() -> None:
    result = check(calling([]), **assertion("get_weather", by_turn=3))
    assert (result.holds, result.found) == (False, "no call")
    assert check(calling([]), **assertion("get_weather", not_before_turn=3)).holds


@pytest.mark.parametrize("more", [{}, {"times": 0}, {"at_least": 1}])
def test_a_turn_that_never_took_place_decides_nothing(more: dict[str, int]) -> None:
    usage = assertion("get_weather", in_turn=3, **more)
    with pytest.raises(
        ScenarioError, match=r"the conversation ended in turn 2 \(user done\), so turn 3 never"
    ):
        check(calling([], [OSLO]), **usage)
    # What is certain comes first.
    failed = check(calling([], [OSLO]), prohibited_tools=["get_weather"], **usage)
    assert (failed.name, failed.holds) == ("prohibited tool get_weather", False)


def test_an_agent_that_ends_the_conversation_had_its_chance() -> None:
    ended = replace(calling([], [OSLO]), termination=Termination.AGENT_ENDED)
    assert not check(ended, **assertion("get_weather", in_turn=3)).holds
    assert check(ended, **assertion("get_weather", in_turn=3, times=0)).holds


# Latency


def timed(*latencies: float) -> Transcript:
    whole = talk(*(("Hi", "Hello") for _ in latencies))
    turns = (replace(turn, latency=one) for turn, one in zip(whole.turns, latencies, strict=True))
    return replace(whole, turns=tuple(turns))


def test_the_slowest_turn_counts() -> None:
    assert limit(timed(0.5, 2.0, 1.0), max_turn_latency=2) == CheckResult(
        "latency of each turn", True, "at most 2 s", "2.0 s in turn 2", 2
    )
    slow = limit(timed(0.5, 2.4), max_turn_latency=0.8)
    assert (slow.holds, slow.expected, slow.found) == (False, "at most 0.8 s", "2.4 s in turn 2")


def test_a_turn_that_nobody_measured_decides_nothing() -> None:
    with pytest.raises(ScenarioError, match="nobody measured how long turn 2 took"):
        limit(timed(0.5, 0.0), max_turn_latency=2)


def test_a_replayed_model_is_not_the_agents_speed() -> None:
    replayed = replace(timed(0.1), replayed=True)
    with pytest.raises(ScenarioError, match="answered from a recording") as caught:
        limit(replayed, max_turn_latency=2)
    assert caught.value.remedies == ("run.replay=off",)
    # What is certain comes first.
    asked = evaluation(efficiency={"max_turn_latency": 2}, tool_usage={"required_tools": ["a"]})
    with_calls = replace(calling([OSLO]), replayed=True)
    assert [one.holds for one in run_checks(asked, with_calls)] == [False]
