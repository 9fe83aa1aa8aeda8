from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pytest_convoprobe.calibration.as_job import transcript_of
from pytest_convoprobe.calibration.canaries import canaries
from pytest_convoprobe.calibration.labelling import labelled_data
from pytest_convoprobe.calibration.labels_file import LabelsFile, load_labels, parse_labels
from pytest_convoprobe.errors import ScenarioFileError
from pytest_convoprobe.judging.transcript_view import view_of
from pytest_convoprobe.judging.types import Criterion, CriterionKind
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.index import IndexRow
from pytest_convoprobe.transcript import (
    CallKind,
    PendingRequest,
    Reply,
    Termination,
    ToolCall,
    Transcript,
    Turn,
)

from ..reports.results import result

# From a set of conversations that others labelled.
FULL = """
id: ord1
kind: plain-met
metadata: {domain: orders}
turns:
  - user: Where is my order A-12?
    agent: Your order A-12 was shipped on Monday and arrives on Thursday.
    calls:
      - {name: get_order, arguments: {id: A-12}, result: {status: shipped, eta: Thursday}, error: null}
criteria:
  - type: correctness
    text: The agent tells the user when the order arrives.
    truth: true
    about: agent
    shows: presence
    opposite: The agent never says when the order arrives.
  - {type: failure, text: The agent asks for a password., truth: false}
  - {type: tool, tool: get_order, text: It is called with the number that the user named, truth: true}
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(ScenarioFileError) as caught:
        parse_labels(text, "f.labels.yaml")
    return [str(problem).splitlines()[0] for problem in caught.value.problems]


def test_a_conversation_with_all_its_parts() -> None:
    (one,) = parse_labels(FULL).conversations
    assert [criterion.holds for criterion in one.conversation.criteria] == [True, True, True]
    (turn,) = transcript_of(one.conversation, Path()).turns
    (call,) = turn.reply.tool_calls or ()
    assert (turn.number, call.name, call.result) == (1, "get_order", {"status": "shipped", "eta": "Thursday"})


def test_what_the_agent_must_not_do_is_in_order_if_it_is_not_true() -> None:
    (one,) = parse_labels(FULL.replace("password., truth: false", "password., truth: true")).conversations
    assert [criterion.holds for criterion in one.conversation.criteria] == [True, False, True]


def test_no_calls_differ_from_calls_that_are_not_reported() -> None:
    text = "{id: a, turns: [{user: Hi, agent: ''%s}], criteria: [{text: It answers, truth: false}]}"
    replies = [
        transcript_of(parse_labels(text % more).conversations[0].conversation, Path()).turns[0].reply
        for more in ("", ", calls: null")
    ]
    assert [reply.tool_calls for reply in replies] == [(), None]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "truth: true\n",
            '"true": true\n',
            "f.labels.yaml:13:5: criteria[0].true: unknown key; did you mean `truth`?",
        ),
        ("truth: true\n", "truth: maybe\n", "criteria[0].truth: must be true or false, got the text"),
        ("type: correctness", "type: corectness", "did you mean `correctness`?"),
        ("tool: get_order, ", "", "a criterion of type `tool` needs `tool`"),
        ("id: ord1", "name: ord1", "id: this key is required, and it is missing"),
        ("about: agent", "about: bot", "must be one of `agent`, `user`, `tool`, `any`, got"),
    ],
)
def test_a_mistake_is_shown_with_its_place(old: str, new: str, said: str) -> None:
    found = problems_of(FULL.replace(old, new))
    assert any(said in problem for problem in found), found


def test_a_conversation_needs_turns_or_a_stored_one() -> None:
    text = "{id: a, criteria: [{text: It answers, truth: true}]}"
    assert problems_of(text) == [
        "f.labels.yaml:1:1: there is no conversation: `turns` is missing (or `stored`, one of a stored run)"
    ]


def test_two_conversations_of_one_id() -> None:
    assert "there is a conversation of this id in line 2 already" in problems_of(f"{FULL}---{FULL}")[0]


def test_json_lines_name_the_line_and_the_column(tmp_path: Path) -> None:
    good = {"id": "a", "turns": [{"user": "Hi", "agent": "Hi"}]}
    lines = [
        {**good, "criteria": [{"text": "It answers", "truth": True}]},
        {**good, "id": "b", "criteria": [{"text": "It answers", "truth": "yes"}]},
    ]
    path = tmp_path / "x.labels.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ScenarioFileError) as caught:
        load_labels(path, "x.labels.jsonl")
    (problem,) = caught.value.problems
    column = json.dumps(lines[1]).index('"yes"') + 1
    assert str(problem).startswith(
        f'x.labels.jsonl:2:{column}: criteria[0].truth: must be true or false, got the text "yes"'
    )
    path.write_text(f"{json.dumps(lines[0])}\n{{broken\n")
    with pytest.raises(ScenarioFileError, match=r"x\.labels\.jsonl:2:2: the line is not JSON"):
        load_labels(path, "x.labels.jsonl")


def test_the_digest_is_that_of_what_is_judged() -> None:
    def digest(text: str) -> str:
        found: LabelsFile = parse_labels(text)
        return found.digest

    assert digest(FULL) == digest("# A remark\n" + FULL.replace("plain-met", "plain"))
    assert digest(FULL) != digest(FULL.replace("password., truth: false", "password., truth: true"))


def test_keys_that_a_file_does_not_use_leave_its_digest_alone() -> None:
    # As it was before the format had them: judges that were measured on the file stay measured.
    assert parse_labels(FULL).digest == "251d2a45aea421d3"


def test_a_stored_conversation_comes_back_with_nesting_and_answers() -> None:
    calls = (
        ToolCall("ask", {}, "3", id="1", agent="desk", kind=CallKind.SUB_AGENT, group="g"),
        ToolCall("count", {}, 3, id="2", parent="1", agent="stock", fault="an error"),
    )
    asked = PendingRequest("r", tool="refund", arguments={"sum": 3}, answer="reject", reason="no", after=2)
    talk = Transcript((Turn(1, "hi", Reply("ok", calls, pending=(asked,))),), Termination.USER_DONE)
    row = IndexRow("run", "main", 0, 0, "s", "S", "s.yaml", 1, 1, Outcome.PASSED)
    criterion = Criterion("c1", CriterionKind.CORRECTNESS, "The agent says ok.")
    text = yaml.safe_dump(labelled_data(row, result(Outcome.PASSED, transcript=talk), [(criterion, True)]))
    (found,) = parse_labels(text).conversations
    back = transcript_of(found.conversation, Path())
    assert view_of(back).text == view_of(talk).text
    assert "group" not in text


def test_the_built_in_conversations_have_both_truths_of_each_kind() -> None:
    found = [one.conversation for one in canaries().conversations]
    assert len(found) >= 24
    truths = {one.kind: set[bool]() for one in found}
    for one in found:
        truths[one.kind] |= {criterion.truth for criterion in one.criteria}
        # With these nobody has to ask the judge what a criterion is about.
        assert all(criterion.about and criterion.shows and criterion.opposite for criterion in one.criteria)
    assert all(both == {True, False} for both in truths.values())


def test_a_file_of_json_lines_is_refused_for_what_yaml_is(tmp_path: Path) -> None:
    """A doubled key, of which JSON's reader takes the last one, and a size that nobody meant."""
    path = tmp_path / "x.labels.jsonl"
    path.write_text('{"id": "a", "turns": [{"user": "Hi", "agent": "Hi"}], "id": "b", "criteria": []}\n')
    with pytest.raises(ScenarioFileError, match=r"x.labels.jsonl:1:55: id: the key `id` is given twice in"):
        load_labels(path, "x.labels.jsonl")
    path.write_bytes(b" " * 2_500_000)
    with pytest.raises(ScenarioFileError, match=r"2.5 MB, and at most 1 MB are read; split it into several"):
        load_labels(path, "x.labels.jsonl")
