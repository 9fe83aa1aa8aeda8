"""A new type of target is a settings class, a builder, and their entries: everything else knows it then."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

import pytest_convoprobe
from pytest_convoprobe.benchmark.format.models import TargetEntry
from pytest_convoprobe.benchmark.pipeline.driver import StageReport
from pytest_convoprobe.benchmark.pipeline.pipeline import run_bench
from pytest_convoprobe.benchmark.rows.row_keys import target_print
from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.describe_run import describe_run
from pytest_convoprobe.runs.session import Session
from pytest_convoprobe.scenario import coerce
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.models import TARGET_TYPES, TargetSection
from pytest_convoprobe.settings.show import show
from pytest_convoprobe.targets.factory import BUILDERS
from pytest_convoprobe.targets.fake import FakeTarget
from tests.benchmark import project
from tests.support.scripted_llm import FakeLLM

SCENARIO = """\
name: A talk
description: One turn.
synthetic_user: {persona: Somebody, initial_query: Hello, max_turns: 1}
evaluation: {correctness_criteria: [It answers]}
"""
MET = {"id": "c1", "verdict": "met", "finding": "Seen.", "quote": "Aye: Hello", "turn": 1, "absence": False}
CONFIG = project.CONFIG.replace(
    "  - {id: good, model: openai/good, <<: *live}\n  - {id: bad, model: openai/bad, <<: *live}\n",
    "  - {type: parrot, prefix: Aye, delay: 0}\n",
)


class ParrotTarget(TargetSection):
    """Repeats every message."""

    name_field = "prefix"
    answer_fields = ("prefix",)

    type: Literal["parrot"] = Field("parrot", description="`parrot`.")
    prefix: str = Field(description="What it says first.")
    delay: float = Field(0, description="How long it thinks.")


def build_parrot(settings: ParrotTarget, rootdir: Path) -> FakeTarget:
    return FakeTarget(lambda message, turn: f"{settings.prefix}: {message}", name="parrot")


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGET_TYPES, "parrot", ParrotTarget)
    monkeypatch.setitem(BUILDERS, "parrot", build_parrot)


def write_settings(folder: Path, target: str) -> Path:
    (folder / "convoprobe.yaml").write_text(f"llm: {{model: openai/judge}}\ntarget: {target}\n")
    return folder


@pytest.mark.usefixtures("_registered")
class TestParrot:
    def test_a_scenario_runs_with_it(self, tmp_path: Path) -> None:
        write_settings(tmp_path, "{type: parrot, prefix: Aye}")
        llm = FakeLLM(lambda request: json.dumps({"answers": [MET]}))
        settings = load_settings(tmp_path, environ={})
        with Session.of(settings, tmp_path, llm=llm) as session, session.target() as target:
            result = session.run(session.job(coerce.loaded(SCENARIO), "a::talk", target))
        assert result.outcome is Outcome.PASSED, result.reason
        assert [turn.reply.text for turn in result.transcript.turns] == ["Aye: Hello"]

    def test_the_settings_and_a_run_show_it(self, tmp_path: Path) -> None:
        loaded = load_settings(write_settings(tmp_path, "{type: parrot, prefix: Aye}"), environ={})
        assert re.search(r"prefix +Aye +convoprobe.yaml:2 \(target\)", show(loaded))
        run = describe_run("a", loaded, command=(), folder=tmp_path)
        assert run.models["target"] == "Aye"
        assert run.settings["target"] == {"type": "parrot", "prefix": "Aye", "delay": 0}

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            ("{prefix: Aye}", "`python`, `http`, `adk`, `parrot`; for this one write `type: parrot`"),
            ("{type: parot, prefix: Aye}", "did you mean `parrot`"),
            ("{type: parrot, prefx: Aye}", "did you mean `prefix`"),
            ("parrot", "or type model or http or adk or parrot"),
        ],
    )
    def test_mistakes_are_explained(self, target: str, words: str, tmp_path: Path) -> None:
        with pytest.raises(SettingsError) as caught:
            load_settings(write_settings(tmp_path, target), environ={})
        assert words in str(caught.value)

    def test_the_fields_that_decide_its_answers_are_in_the_key_of_a_row(self) -> None:
        entry = TargetEntry.model_validate({"id": "t1", "settings": {"type": "parrot", "prefix": "Aye"}})
        assert target_print(entry) == {"id": "t1", "prefix": "Aye"}

    def test_a_benchmark_runs_with_it_and_makes_rows_again_if_its_answers_change(
        self, tmp_path: Path
    ) -> None:
        folder = project.write(tmp_path, config=CONFIG)
        assert simulated(folder).made == 4
        (row, *_) = json.loads((folder / "runs" / "Aye" / "conversations.json").read_bytes())
        assert row["transcript"][1]["content"].startswith("Aye: ")
        config = folder / "config.yaml"
        config.write_text(config.read_text().replace("delay: 0", "delay: 1"))
        assert simulated(folder).made == 0
        config.write_text(config.read_text().replace("prefix: Aye", "id: Aye, prefix: Arr"))
        assert simulated(folder).made == 4


def simulated(folder: Path) -> StageReport:
    loaded = project.load(folder)
    report = asyncio.run(run_bench(loaded, ["gen-scenarios", "simulate"], llm=project.models()))
    return report.stages[-1]


@pytest.mark.parametrize("kind", TARGET_TYPES.values(), ids=TARGET_TYPES)
def test_every_type_describes_itself_and_has_a_builder(kind: type[TargetSection]) -> None:
    described = {kind.name_field, *kind.signs, *kind.answer_fields, *kind.code_fields}
    assert described <= set(kind.model_fields)
    assert kind.type_name() in BUILDERS


def test_only_settings_and_targets_name_the_types() -> None:
    package = Path(pytest_convoprobe.__file__).parent
    names = re.compile("|".join(kind.__name__ for kind in TARGET_TYPES.values()))
    found = [path.relative_to(package) for path in package.rglob("*.py") if names.search(path.read_text())]
    assert {path.parts[0] for path in found} == {"settings", "targets"}
    in_settings = {path.name for path in found if path.parts[0] == "settings"}
    assert in_settings == {"http_settings.py", "models.py"}
