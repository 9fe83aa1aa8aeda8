"""`mutate`: which criteria let a changed conversation through."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe.results.mutation_file import read_mutations
from tests.mutants.talks import judged, scenario, talk
from tests.support.chat_server import ChatServer
from tests.support.default_answers import default_answer

from .conftest import Convoprobe
from .live import KEY, project
from .stored import store

ARRIVES = "The agent says that the order arrives on 2026-11-04."
REFUND = "The agent says that the refund is $54."
TALK = talk(
    ("When does it come?", "The order arrives on 2026-11-04."),
    ("And my refund?", "The refund is $54.00."),
    ("Thanks.", "You are welcome."),
)
QUOTES = {"c1": ("arrives on 2026-11-04", 1), "c2": ("refund is $54.00", 2)}


def blind(body: dict[str, Any]) -> Any:
    """A judge that finds every criterion met."""
    return default_answer(body)


def with_an_eye(body: dict[str, Any]) -> Any:
    """A judge that finds nothing met where the agent doesn't name the day."""
    text = default_answer(body)
    asked = "\n".join(str(message["content"]) for message in body["messages"])
    there = "| agent: The order arrives on 2026-11-04." in asked and "take that back" not in asked
    return text if there or not isinstance(text, str) else text.replace('"met"', '"not_met"')


def stored(folder: Path, url: str, criteria: list[str], **usage: Any) -> None:
    """A project with a stored run of one conversation that passed."""
    file = project(folder, url, run={"concurrency": 1})
    wanted = scenario(criteria, usage)
    file.write_text(yaml.safe_dump(wanted.model_dump(mode="json", exclude_defaults=True)))
    store(folder, 1, [replace(judged(wanted, TALK, QUOTES), target="agent.py:Agent")])


@pytest.fixture
def a_judge() -> Any:
    with ChatServer(blind) as server:
        yield server


def test_a_blind_criterion_is_named_with_the_sentence(
    folder: Path, convoprobe: Convoprobe, a_judge: ChatServer
) -> None:
    stored(folder, a_judge.base_url, [ARRIVES])
    result = convoprobe("mutate")
    assert result.exit_code == 1, result.output
    assert "scenarios/talk.yaml::Talk: 0 %, 0 of " in result.stdout
    assert f": {ARRIVES}\n" in result.stdout
    assert (
        'let through: number, turn 1: "The order arrives on 2026-11-05."; the criterion says 2026-11-04, and '
        "the agent another number" in result.stdout
    )
    assert "1 criterion of 1 let a mutant through" in result.stdout
    assert KEY not in (folder / ".convoprobe" / "mutations.json").read_text()
    (kept,) = read_mutations(folder / ".convoprobe").values()
    assert kept.blind == (ARRIVES,)


def test_a_judge_that_looks_catches_them(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(with_an_eye) as server:
        stored(folder, server.base_url, [ARRIVES])
        result = convoprobe("mutate", "--json")
    found = json.loads(result.stdout)
    (one,) = found["scenarios"]
    assert (one["survivors"], one["criteria"][0]["survived"], one["score"]) == ([], 0, 1.0)
    assert one["criteria"][0]["caught"] >= 5
    # The control puts words before the sentence, and this judge looks for it at the start of the reply.
    assert [remark["kind"] for remark in one["failed_controls"]] == ["paraphrase"]
    assert result.exit_code == 1


def test_what_code_decides_asks_nobody(folder: Path, convoprobe: Convoprobe, a_judge: ChatServer) -> None:
    stored(folder, a_judge.base_url, ["The agent is nice."], prohibited_tools=["cancel_order"])
    result = convoprobe("mutate", "--dry-run")
    assert (result.exit_code, a_judge.requests) == (0, [])
    assert "2 mutants of 1 conversation: checks by code decide 1, for the others " in result.stderr
    result = convoprobe("mutate")
    assert result.exit_code == 0, result.output
    assert "100 %, 1 of 1 mutants noticed, 1 of them by checks" in result.stdout
    assert "c1 not known, no mutant is about it: The agent is nice." in result.stdout


def test_what_could_not_be_kept_is_not_paid_for(
    folder: Path, convoprobe: Convoprobe, a_judge: ChatServer
) -> None:
    stored(folder, a_judge.base_url, [ARRIVES])
    (folder / ".convoprobe" / "mutations.json").mkdir()
    result = convoprobe("mutate", "--again")
    assert result.exit_code == 2
    assert "mutations.json cannot be written: Is a directory" in result.output
    assert a_judge.requests == []


def test_a_limit_of_calls(folder: Path, convoprobe: Convoprobe, a_judge: ChatServer) -> None:
    stored(folder, a_judge.base_url, [ARRIVES, REFUND])
    result = convoprobe("mutate", "--calls", "4")
    assert "not judged: the limit of calls was reached" in result.stdout
    assert len(a_judge.requests) <= 4


@pytest.mark.parametrize(("share", "status"), [("0", 0), ("0.5", 1)])
def test_a_minimum_decides_the_status(
    folder: Path, convoprobe: Convoprobe, a_judge: ChatServer, share: str, status: int
) -> None:
    stored(folder, a_judge.base_url, [ARRIVES])
    assert convoprobe("mutate", "--min-score", share, "--calls", "6").exit_code == status


def test_hostile_texts_command_nothing(folder: Path, convoprobe: Convoprobe, a_judge: ChatServer) -> None:
    wanted = scenario([ARRIVES])
    words = "The order arrives on 2026-11-04 \x1b[2J::error::x ##vso[task.complete]"
    evil = judged(wanted, talk(("When?", words)), {"c1": ("arrives on 2026-11-04", 1)})
    stored(folder, a_judge.base_url, [ARRIVES])
    store(folder, 2, [evil])
    output = convoprobe("mutate", "--calls", "20").output
    assert "\x1b" not in output
    assert "##vso[" not in output


def test_a_scenario_that_is_gone_is_named(folder: Path, convoprobe: Convoprobe, a_judge: ChatServer) -> None:
    stored(folder, a_judge.base_url, [ARRIVES])
    (folder / "scenarios" / "talk.yaml").unlink()
    result = convoprobe("mutate")
    assert "scenarios/talk.yaml::Talk: no mutants: its file scenarios/talk.yaml is not there" in result.stdout
    assert result.exit_code == 1


def test_what_is_known_is_not_asked_again(folder: Path, convoprobe: Convoprobe, a_judge: ChatServer) -> None:
    stored(folder, a_judge.base_url, [ARRIVES])
    convoprobe("mutate", "--calls", "6")
    before = len(a_judge.requests)
    first = convoprobe("mutate")
    assert 0 < len(a_judge.requests) - before < 12
    before = len(a_judge.requests)
    second = convoprobe("mutate")
    assert second.stdout == first.stdout
    assert "and none is left for the judge" in second.stderr
    assert len(a_judge.requests) == before
    # Another criterion is another question.
    file = folder / "scenarios" / "talk.yaml"
    file.write_text(file.read_text().replace("the order arrives", "the parcel of the order arrives"))
    assert "known from before" not in convoprobe("mutate", "--dry-run").stderr
    assert "known from before" not in convoprobe("mutate", "--again", "--dry-run").stderr


def test_without_a_mutant_nothing_is_known(folder: Path, convoprobe: Convoprobe, a_judge: ChatServer) -> None:
    stored(folder, a_judge.base_url, ["The agent is nice."])
    result = convoprobe("mutate")
    assert result.exit_code == 1
    assert result.stdout.endswith(
        "mutation score unknown, 0 criteria of 1 let a mutant through, 1 not known\n"
    )


def test_a_judge_that_is_not_there(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(lambda body: "no JSON") as server:
        stored(folder, server.base_url, [ARRIVES])
        result = convoprobe("mutate", "--calls", "9")
    assert result.exit_code == 3
    assert "no verdict: " in result.stdout
    assert read_mutations(folder / ".convoprobe") == {}


@pytest.mark.parametrize("day", ["2026-11-04", "2026-11-05"])
def test_a_model_words_a_second_control(folder: Path, convoprobe: Convoprobe, day: str) -> None:
    said = [f"Your parcel comes on {day}.", "You get $54.00 back.", "My pleasure."]

    def answer(body: dict[str, Any]) -> Any:
        asked = body["messages"][-1]["content"]
        if "Reword each reply" in asked:
            return json.dumps({"replies": said})
        return with_an_eye(body)

    with ChatServer(answer) as server:
        stored(folder, server.base_url, [ARRIVES])
        result = convoprobe("mutate", "--llm")
    used = day == "2026-11-04"
    assert ("a model says the same in other words" in result.stdout) is used
    assert ("the model's paraphrase does not say the same, so it isn't used" in result.stderr) is not used
