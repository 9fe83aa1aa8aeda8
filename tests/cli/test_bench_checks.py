"""`validate`, `calibrate`, `report` and `export` of a finished benchmark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from pytest_convoprobe.benchmark.analysis.results import Results
from pytest_convoprobe.cli import main
from pytest_convoprobe.cli.bench.shared.results import print_results
from pytest_convoprobe.cli.console import Console
from tests.support.chat_server import ChatServer, fault

from .benchmark import answer, benchmark
from .conftest import Convoprobe

LABELS = """\
conversation,target,metric,present
m01_s001_v01,careful,m01,true
m01_s001_v02,careful,m01,no
m02_s001_v01,careless,m02,1
m02_s001_v01,careless,m01,1
"""


def blind(body: dict[str, Any]) -> Any:
    """The model `blind` never sees anything."""
    said = answer(body)
    return str(said).replace('"present": true', '"present": false') if body["model"] == "blind" else said


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A benchmark of which everything is done, and its models."""
    folder = tmp_path_factory.mktemp("finished")
    with ChatServer(blind) as running:
        path = benchmark(folder, running.base_url)
        done = CliRunner().invoke(main, ["bench", "all", str(path)])
        assert done.exit_code == 0, done.output
        yield path


@pytest.fixture
def done(folder: Path, finished: Path) -> Path:
    return shutil.copytree(finished, folder / "hours")


def test_another_evaluator(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "validate", "hours", "--evaluator", "openai/blind")
    assert result.exit_code == 1
    lines = [line.split() for line in result.stdout.splitlines()]
    assert result.stdout.startswith(
        "evaluator: openai/fake → openai/blind\n4 scenarios; 16 conversations with a verdict on both sides\n"
    )
    moved = "overall careless 0 % (0-49 %) 50 % (8-92 %) +50 (-42 to +100) 2 → 1".split()
    assert moved in lines
    assert "all 16 50 % 0.00".split() in lines
    assert (
        "8 of 16 conversations came out differently\n  careful m01_s001_v01#1: passed → failed\n"
        in result.stdout
    )
    assert result.stdout.splitlines()[-1].endswith("/hours-evaluator-openai-blind")


def test_another_user_on_a_sample(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "validate", "hours", "--user-model", "openai/other", "--sample", "1")
    assert result.exit_code == 0
    assert "user model: openai/fake → openai/other\n1 scenario; 4 conversations" in result.stdout
    assert "only two targets have verdicts on both sides; a correlation of ranks needs three" in result.stdout


def test_what_a_validation_would_take(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "validate", "hours", "--evaluator", "openai/blind", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split()[:4] == ["evaluate", "0", "16", "16"]


def test_json_of_validate(done: Path, convoprobe: Convoprobe) -> None:
    found = json.loads(
        convoprobe("bench", "validate", "hours", "--evaluator", "openai/blind", "--json").stdout
    )
    assert len(found["comparison"]["flips"]) == 8
    assert found["run"]["stages"][0]["targets"]["careful"]["made"] == 8


@pytest.mark.parametrize("options", [[], ["--generator", "a", "--evaluator", "b"]])
def test_validate_wants_one_other_model(done: Path, convoprobe: Convoprobe, options: list[str]) -> None:
    result = convoprobe("bench", "validate", "hours", *options)
    assert result.exit_code == 2
    assert "name one other model: --generator MODEL, --user-model MODEL or --evaluator MODEL" in result.output


def test_calibrate(done: Path, folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "labels.csv").write_text(LABELS)
    result = convoprobe("bench", "calibrate", "hours", "labels.csv")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert "all 4 50 % (9-91 %) 67 % (5-99 %) 0 % (0-79 %) -0.33 (-0.33 to 0.00) 0 0".split() in lines
    assert (
        "2 disagreements\n"
        "  careful m01_s001_v02#1 m01\n"
        "    people:    absent\n"
        "    evaluator: present: In turn 1 it says so.\n"
        "    assistant: I don't know when it opens.\n"
    ) in result.stdout


def test_labels_without_an_answer(done: Path, folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "labels.csv").write_text(LABELS)
    config = yaml.safe_load((done / "config.yaml").read_text())
    # Twice: the first may mean that the server takes no schema, so it is asked again without one.
    with ChatServer([fault("400"), fault("400")]) as running:
        config["llm"]["api_base"] = running.base_url
        (done / "config.yaml").write_text(yaml.safe_dump(config))
        result = convoprobe("bench", "calibrate", "hours", "labels.csv")
    assert result.exit_code == 3
    assert "evaluate: 1 row could not be made (m02_s001_v01@m01#1):\n" in result.stdout


def test_labels_that_cannot_be_used(done: Path, folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "labels.csv").write_text(LABELS.replace("true", "perhaps"))
    result = convoprobe("bench", "calibrate", "hours", "labels.csv")
    assert result.exit_code == 2
    assert "labels.csv:2:26: " in result.output
    assert "perhaps" in result.output


def test_json_of_calibrate(done: Path, folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "labels.csv").write_text(LABELS)
    found = json.loads(convoprobe("bench", "calibrate", "hours", "labels.csv", "--json").stdout)
    assert found["overall"]["false_positives"] == 1
    assert len(found["disagreements"]) == 2


def test_export(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "export", "hours", "--to-scenarios", "scenarios/hours", "--only", "m02")
    assert result.exit_code == 0
    assert result.stderr == ""
    written = [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("  wrote")]
    assert written == [
        f"scenarios/hours/m02_s00{scenario}_v0{variant}.yaml" for scenario in (1, 2) for variant in (1, 2)
    ]
    assert convoprobe("validate", "scenarios").exit_code == 0


def test_export_to_where_pytest_does_not_look(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "export", "hours", "--to-scenarios", "out", "--only", "m02_s001_v01")
    assert result.stderr.startswith("note: pytest finds the scenarios in out only if you name their files: ")
    assert "\n  pytest out/*.yaml " in result.stdout


def test_exported_files_that_were_edited_stay(done: Path, folder: Path, convoprobe: Convoprobe) -> None:
    convoprobe("bench", "export", "hours", "--to-scenarios", "out", "--only", "m02_s001")
    edited = folder / "out" / "m02_s001_v01.yaml"
    edited.write_text(edited.read_text() + "# mine\n")
    result = convoprobe("bench", "export", "hours", "--to-scenarios", "out", "--only", "m02_s001")
    assert result.exit_code == 2
    assert "m02_s001_v01.yaml" in result.output
    assert edited.read_text().endswith("# mine\n")


def test_nothing_to_export(done: Path, folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "export", "hours", "--to-scenarios", "out", "--target", "careful")
    assert result.exit_code == 0
    assert result.stdout == "no scenario that fits was failed by a target: nothing was written\n"
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("options", "page"),
    [([], "hours/report.html"), (["--html"], "hours/report.html"), (["--html", "page.html"], "page.html")],
)
def test_report(done: Path, folder: Path, convoprobe: Convoprobe, options: list[str], page: str) -> None:
    result = convoprobe("bench", "report", "hours", *options)
    assert result.exit_code == 0
    assert result.stdout == f"wrote {page}\n"
    assert "careless" in (folder / page).read_text(encoding="utf-8")


def test_results_as_a_list_for_other_programs(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "export", "hours", "--results-as", "list")
    assert result.exit_code == 0
    ours = json.loads((done / "results.json").read_text())
    found = json.loads(result.stdout)
    assert [one["model"] for one in found] == [one["id"] for one in ours["targets"]]
    assert {one["benchmark"] for one in found} == {ours["benchmark"]}
    assert [one["pass_rate"] for one in found] == [one["overall"]["pass_rate"] for one in ours["targets"]]
    assert found[0]["metrics"] == ours["targets"][0]["by_metric"]
    chosen = convoprobe("bench", "export", "hours", "--results-as", "list", "--target", "careless")
    assert [one["model"] for one in json.loads(chosen.stdout)] == ["careless"]


@pytest.mark.parametrize("more", [[], ["--results-as", "list", "--to-scenarios", "out"]])
def test_an_export_of_one_thing(done: Path, convoprobe: Convoprobe, more: list[str]) -> None:
    result = convoprobe("bench", "export", "hours", *more)
    assert result.exit_code == 2
    assert "say what to export: either --to-scenarios DIR or --results-as list" in result.output


def test_a_report_with_some_of_the_conversations(done: Path, convoprobe: Convoprobe) -> None:
    assert convoprobe("bench", "report", "hours", "--most", "1").exit_code == 0
    assert "conversations are in this page, failed ones first" in (done / "report.html").read_text("utf-8")


def test_a_report_without_results(done: Path, convoprobe: Convoprobe) -> None:
    (done / "results.json").unlink()
    assert convoprobe("bench", "report", "hours").exit_code == 0
    assert "There are no results yet" in (done / "report.html").read_text(encoding="utf-8")


def test_a_report_on_nothing(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "report", ".")
    assert result.exit_code == 2
    assert ".: not a benchmark: it has neither benchmark.yaml nor results.json" in result.output
    assert not (folder / "report.html").exists()


def test_agreement_and_gaps_are_shown(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = json.loads((done / "results.json").read_text())
    target = results["targets"][0]
    target["agreement"] = {
        "units": 8,
        "unanimous": 0.75,
        "fleiss_kappa": 0.5,
        "krippendorff_alpha": None,
        "single_with_majority": 0.9,
    }
    target["gaps"][0] |= {
        "difference": -0.25,
        "interval": [-0.4, -0.1],
        "adjusted_p_value": 0.012,
        "stands": True,
    }
    print_results(Console(), Results.from_json(results), {})
    text = capsys.readouterr().out
    assert "careful 75 % 0.50 - 90 %".split() in [line.split() for line in text.splitlines()]
    assert "gaps between groups: 1 of 2 are more than chance" in text
    assert '  careful, mood: "angry" passes 25 points more often (+10 to +40) than "calm", p = 0.012' in text
