from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pytest_convoprobe.transcript import Reply, Termination, Transcript, Turn

from .conftest import Convoprobe
from .stored import failed, passed, store

HOSTILE = "\x1b[2J\u202e ::error::owned\n::error::owned\n##vso[task.complete]"


def test_a_run(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), failed("two")])
    result = convoprobe("show", "latest")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "run 20261101T120000Z-000001"
    assert "  trials   1 passed, 1 failed" in lines
    assert "  models   judge openai/gpt-4o" in lines
    assert lines[-2].split()[:3] == ["passed", "1.00", "scenarios/one.yaml::one"]
    assert lines[-1].endswith("agent: The agent tells the wind")


def test_a_conversation(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), failed("two")])
    output = convoprobe("show", "latest", "two").output
    assert output.startswith("FAILED  two\n")
    assert "✗ c2 must: The agent tells the wind" in output
    assert "    user  │ What's the weather like?" in output
    assert 'tool  │ get_weather({"city": "Oslo", "units": "metric"})' in output
    assert "run again: pytest scenarios/two.yaml::two" in output


def test_the_command_for_it_can_be_pasted_on_a_plain_terminal(
    folder: Path, on_terminal: Callable[..., str]
) -> None:
    store(folder, 1, [failed("Füße")])
    output = on_terminal("show", "latest", "Füße", env={"PYTHONIOENCODING": "ascii"})
    assert "run again: pytest scenarios -k 'F and e'" in output


def test_a_passed_one_has_its_reasons_too(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one")])
    output = convoprobe("show", "latest", "one").output
    assert output.startswith("PASSED  one\n")
    assert "met: It asks at once." in output


def test_of_several_trials_the_first_that_did_not_pass(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), failed("one", trial=2), passed("one", trial=3)])
    result = convoprobe("show", "latest", "one")
    assert result.stdout.startswith("FAILED  one (trial 2)\n")
    assert "this is trial 2 of 3 (1 passed, 2 failed, 3 passed); --trial shows another" in result.stderr
    assert convoprobe("show", "latest", "one", "--trial", "3").stdout.startswith("PASSED  one (trial 3)\n")


def test_a_trial_that_is_not_there(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one")])
    result = convoprobe("show", "latest", "one", "--trial", "7")
    assert result.exit_code == 2
    assert "no trial 7 of it is stored; there are: 1" in result.output


def test_an_unknown_scenario(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), passed("two")])
    result = convoprobe("show", "latest", "three")
    assert result.exit_code == 2
    assert "no scenario 'three'; there are:\n  scenarios/one.yaml::one\n" in result.output


def test_a_part_of_a_name_that_several_have(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("order a"), passed("order b")])
    result = convoprobe("show", "latest", "order")
    assert result.exit_code == 2
    assert "'order' may be one of several scenarios" in result.output
    assert convoprobe("show", "latest", "ORDER B").output.startswith("PASSED  order b\n")


def test_an_unknown_run(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one")])
    result = convoprobe("show", "nothing")
    assert result.exit_code == 2
    assert "20261101T120000Z-000001" in result.output


def test_nothing_that_was_said_is_a_command_to_the_terminal(folder: Path, convoprobe: Convoprobe) -> None:
    transcript = Transcript((Turn(1, HOSTILE, Reply(HOSTILE)),), Termination.USER_DONE)
    store(folder, 1, [failed("one", transcript=transcript, reason=HOSTILE)])
    for arguments in (["show", "latest"], ["show", "latest", "one"], ["show", "latest", "one", "--json"]):
        output = convoprobe(*arguments).output
        assert "owned" in output
        assert not {"\x1b", "\u202e"} & set(output)
        assert "##vso[" not in output
        assert not any(line.lstrip().startswith("::") for line in output.splitlines())


def test_json_of_a_conversation_is_the_stored_record(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("two")])
    found = json.loads(convoprobe("show", "latest", "two", "--json").stdout)
    assert found["outcome"] == "failed"
    assert found["transcript"]["turns"][0]["user"] == "What's the weather like?"


def test_json_of_a_run(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("two")])
    found = json.loads(convoprobe("show", "latest", "--json").stdout)
    assert found["state"] == "finished"
    assert found["trials"][0]["holds"] == {"c1": True, "c2": False}


def test_a_torn_run_says_so(folder: Path, convoprobe: Convoprobe) -> None:
    run = store(folder, 1, [passed("one")], ended=False)
    with (folder / ".convoprobe/runs" / run / "trials-main.jsonl").open("a") as file:
        file.write('{"version": 1, "na')
    output = convoprobe("show", "latest").output
    assert "  ended    broken off" in output
    assert "a torn last line in trials-main.jsonl was skipped" in output


def test_without_unicode(folder: Path, on_terminal: Callable[..., str]) -> None:
    store(folder, 1, [failed("two")])
    output = on_terminal("show", "latest", "two", env={"PYTHONIOENCODING": "latin-1", "NO_COLOR": "1"})
    assert "[x]  c2 must: The agent tells the wind" in output
