from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_convoprobe.calibration.agreement import LabelAnswer, figures_of
from pytest_convoprobe.calibration.canaries import canaries
from pytest_convoprobe.calibration.judging import Judged, judge_labels
from pytest_convoprobe.calibration.labels_file import LabelsFile, parse_labels
from pytest_convoprobe.calibration.measured import Measured, canaries_of, keep, on_labels
from pytest_convoprobe.calibration.words import canaries_line, figures_text
from pytest_convoprobe.errors import Blame, LLMUnavailable, ResultsError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMRequest
from pytest_convoprobe.runs.session import Session
from pytest_convoprobe.settings.loading import load_settings
from tests.cli.stored import passed, store

from .judges import answers, labelled

SETTINGS = {"judge.model": "openai/fake", "judge.second_vote": False}


def judged(tmp_path: Path, labels: LabelsFile, llm: FakeLLM, **settings: object) -> Judged:
    loaded = load_settings(tmp_path, overrides={**SETTINGS, **settings})
    with Session.of(loaded, tmp_path, llm=llm) as session:
        return judge_labels(session, labels, "x.labels.yaml", tmp_path / "results")


def labels(tmp_path: Path, *conversations: str) -> LabelsFile:
    path = tmp_path / "x.labels.yaml"
    path.write_text("\n---\n".join(conversations))
    return parse_labels(path.read_text(), str(path))


def judge(*, wrong: tuple[str, ...] = (), unsure: tuple[str, ...] = ()) -> FakeLLM:
    return FakeLLM(lambda request: answers(_prompt(request), wrong=wrong, unsure=unsure))


def _prompt(request: LLMRequest) -> str:
    return "\n".join(str(message.content) for message in request.messages)


def test_a_judge_that_errs_on_some_labels_gets_exactly_these_figures(tmp_path: Path) -> None:
    given = [labelled(f"t{n}x", says=n != 7, asks=n == 8) for n in range(10)]
    # It finds the fault of t8x, misses that of t7x, and sees one in t2x; of t3x it can't tell one.
    wrong = ("password t8x", "opens t2x")
    found = judged(tmp_path, labels(tmp_path, *given), judge(wrong=wrong, unsure=("opens t3x",)))
    assert found.measured is not None
    figures = figures_of(found.measured.answers)
    assert (figures.labels, figures.agreed.part, figures.undecided) == (20, 17, 1)
    assert (figures.sensitivity.part, figures.sensitivity.whole) == (1, 2)
    assert (figures.specificity.part, figures.specificity.whole) == (16, 18)
    assert found.measured.spent.calls == 10  # nobody reviews the user's side of what is labelled
    text = figures_text(found.measured)
    assert 't7x: "The agent says when the shop opens t7x" is a fault, and the judge accepts it' in text
    assert 't2x: "The agent says when the shop opens t2x" is in order, and the judge calls it a fault' in text


def test_a_fault_that_is_not_said_twice_is_undecided(tmp_path: Path) -> None:
    given = labels(tmp_path, labelled("a"), labelled("b"))
    fickle = FakeLLM(lambda request: answers(_prompt(request), fickle=("opens a",)))
    found = judged(tmp_path, given, fickle, **{"judge.second_vote": True})
    assert found.measured is not None
    assert [one.judged for one in found.measured.answers] == [None, True]


def test_a_stored_conversation_in_place_of_turns(tmp_path: Path) -> None:
    run = store(tmp_path, 1, [passed("weather")])
    (tmp_path / ".convoprobe").rename(tmp_path / "results")
    text = (
        "{id: a, stored: {run: %s, scenario: %s}, criteria: [{text: The agent says when the shop opens, "
        "truth: false, about: agent, shows: presence, opposite: It does not}]}"
    )
    known = text % (run, "scenarios/weather.yaml::weather")
    found = judged(tmp_path, labels(tmp_path, known), judge(unsure=("opens",)))
    assert found.measured is not None
    assert [one.judged for one in found.measured.answers] == [None]
    with pytest.raises(ResultsError, match=r"has no trial 1 of scenarios/other\.yaml::other"):
        judged(tmp_path, labels(tmp_path, text % (run, "scenarios/other.yaml::other")), judge())


def test_a_reply_that_nobody_can_use_is_the_judges_own(tmp_path: Path) -> None:
    found = judged(tmp_path, labels(tmp_path, labelled("a", asks=False)), FakeLLM(lambda _: "no JSON"))
    assert found.measured is not None
    assert [one.judged for one in found.measured.answers] == [None, None]


def test_an_outage_gives_no_figures(tmp_path: Path) -> None:
    def answer(request: LLMRequest) -> str:
        if "opens b" in _prompt(request):
            raise LLMUnavailable("the provider is down")
        return answers(_prompt(request))

    found = judged(tmp_path, labels(tmp_path, labelled("a"), labelled("b")), FakeLLM(answer))
    assert found.measured is None
    assert [(one.name, one.blame) for one in found.broken] == [("b", Blame.INFRASTRUCTURE)]


def test_conversations_with_an_empty_reply_and_with_failure_criteria_alone(tmp_path: Path) -> None:
    one = labelled("a", asks=False).replace("On Sunday we open at ten.", "")
    alone = '{"id": "b", "turns": [{"user": "Hi", "agent": "On Sunday we open at ten."}], "criteria": [%s]}'
    failure = labelled("b", asks=False).partition('"criteria": [')[2].partition("}, ")[2].removesuffix("]}")
    found = judged(tmp_path, labels(tmp_path, one, alone % failure), judge(unsure=("opens a", "password a")))
    assert found.measured is not None
    assert [(one.conversation, one.judged) for one in found.measured.answers] == [
        ("a", None), ("a", None), ("b", True)
    ]  # fmt: skip


def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    given = labels(tmp_path, labelled("a", says=False))
    first = judged(tmp_path, given, judge(), **{"run.replay": "auto"})
    silent = FakeLLM(lambda _: pytest.fail("nobody is asked"))
    second = judged(tmp_path, given, silent, **{"run.replay": "only"})
    assert first.measured is not None
    assert second.measured is not None
    assert second.measured.answers == first.measured.answers
    missing = judged(tmp_path, labels(tmp_path, labelled("new")), silent, **{"run.replay": "only"})
    assert [one.blame for one in missing.broken] == [Blame.RECORDING]


def test_labels_that_have_changed_count_for_nothing(tmp_path: Path) -> None:
    found = judged(tmp_path, labels(tmp_path, labelled("a")), judge()).measured
    assert found is not None
    keep(tmp_path / "results", found)
    assert on_labels(tmp_path / "results", found.print, tmp_path) == [found]
    assert on_labels(tmp_path / "results", "another", tmp_path) == []
    labels(tmp_path, labelled("a", says=False))
    assert on_labels(tmp_path / "results", found.print, tmp_path) == []


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"judge.model": "openai/other"}, False),
        ({"judge.temperature": 1}, False),
        ({"run.max_cost": 9}, True),
    ],
)
def test_another_judge_is_one_of_which_nothing_is_known(
    tmp_path: Path, changed: dict[str, object], same: bool
) -> None:
    given = labels(tmp_path, labelled("a"))
    one, other = (
        judged(tmp_path, given, judge()).measured,
        judged(tmp_path, given, judge(), **changed).measured,
    )
    assert one is not None
    assert other is not None
    assert (one.print == other.print) is same


def test_the_line_about_the_built_in_conversations(tmp_path: Path) -> None:
    given = canaries()
    found = Measured("openai/x", "print", given.file, given.digest, 1_795_860_000.0, ())
    keep(tmp_path, replace(found, answers=tuple(_of_canaries(missed="plain-no"))))
    stored = canaries_of(tmp_path, "print", given.digest)
    assert canaries_line("openai/x", stored) == "judge openai/x: 23 of 24 canaries (2026-11-28)"
    assert canaries_of(tmp_path, "print", "of another release") is None
    assert canaries_line("openai/x", None) == "judge openai/x: canaries not run"


def _of_canaries(missed: str) -> list[LabelAnswer]:
    return [
        LabelAnswer(one.id, criterion.text, criterion.holds, criterion.holds is (one.id != missed))
        for one in canaries().conversations
        for criterion in one.conversation.criteria
    ]


def test_a_judge_by_log_odds_is_shown_the_threshold_that_its_labels_teach() -> None:
    scores = ((-1.0, False), (-2.0, False), (1.5, True), (3.0, True))
    given = tuple(
        LabelAnswer("a", f"c{n}", truth, truth, score=score, truth=truth)
        for n, (score, truth) in enumerate(scores)
    )
    measured = Measured("openai/x", "p", "x.labels.yaml", "d", 0.0, given)
    assert "judge.threshold: 0.25 (learned from 4 labels, 2 true and 2 false: " in figures_text(measured)
    assert Measured.from_json(measured.to_json()) == measured
    few = replace(measured, answers=given[:2])
    assert "too few true or false statements to learn a judge.threshold from" in figures_text(few)
    plain = replace(measured, answers=(replace(given[0], score=None),))
    assert "threshold" not in figures_text(plain)
