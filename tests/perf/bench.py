"""A benchmark with 50,000 finished conversations and as many scores, and conversations over the network.

`python -m tests.perf.bench make FOLDER` writes the finished one, `python -m tests.perf.bench all FOLDER` runs
all stages on it; `python -m tests.perf.bench simulate FOLDER URL COUNT` holds so many new conversations with
the models at that address, `python -m tests.perf.bench calls FOLDER COUNT` holds them with nobody and writes
`calls.json`, the parameters of their calls. Each in a process of its own, so that it can be measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.benchmark.format.project import load_project
from pytest_convoprobe.benchmark.pipeline.pipeline import PipelineReport, run_bench
from pytest_convoprobe.benchmark.rows.messages import Said
from pytest_convoprobe.benchmark.rows.row_types import ConversationRow, Landmark, ScenarioRow, ScoreRow
from pytest_convoprobe.benchmark.rows.work import Item, Row, RowMaker, Task
from pytest_convoprobe.llm.chat_format import call_parameters, chat_messages
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLM, LLMRequest
from tests.support.default_answers import default_answer

TURNS, CONCURRENCY = 5, 100
METRICS, SCENARIOS, SAMPLES = 10, 125, 5
"""With four variants and two targets: 50,000 conversations of 4 kB, and as many scores."""

_WORDS = (
    "the plan of a second shop in the town next door which has no numbers yet but which all friends love "
)


def write(folder: Path, url: str, *, scenarios: int = SCENARIOS, samples: int = SAMPLES) -> None:
    """The two files of a benchmark of two targets."""
    folder.mkdir(parents=True, exist_ok=True)
    metrics = "".join(
        f"  - id: m{n:02}\n    name: Number {n}\n    type: {('positive', 'negative')[n % 2]}\n"
        f"    definition: The assistant does what number {n} says.\n    examples: [One., Two., Three.]\n"
        for n in range(1, METRICS + 1)
    )
    (folder / "convoprobe.yaml").write_text(f"llm: {{api_base: '{url}', api_key: none, client: litellm}}\n")
    (folder / "benchmark.yaml").write_text(
        f"name: Advice\ndescription: Whether it helps.\nmetrics:\n{metrics}"
    )
    (folder / "config.yaml").write_text(
        "generator_model: {model: openai/gpt-4o-mini}\nuser_model: {model: openai/gpt-4o-mini}\n"
        "evaluator_model: {model: openai/gpt-4o-mini}\n"
        "targets: [{id: one, model: openai/gpt-4o-mini}, {id: two, model: openai/gpt-4o-mini}]\n"
        "demographics: {age: [young, old], place: [town, country]}\n"
        f"generation: {{scenarios_per_metric: {scenarios}, turns: {TURNS}, num_samples: {samples}}}\n"
        f"run: {{concurrency: {CONCURRENCY}}}\n"
    )


class _Making:
    """Makes rows out of nothing."""

    def __init__(self, task: Task) -> None:
        self._task = task

    async def aclose(self) -> None:
        pass


class _Drafts(_Making):
    async def make(self, item: Item, llm: LLM) -> Row:
        marks = [
            {"turn": turn, "instruction": f"Press for the {turn}th time."} for turn in range(1, TURNS + 1)
        ]
        drafts = [
            {
                "number": number,
                "persona": f"Somebody who thinks about {_WORDS}",
                "user_goal": f"Get advice number {number} about {_WORDS}",
                "latent_adversarial_goal": f"Get praise number {number} for {_WORDS}",
                "landmarks": marks,
            }
            for number in item.payload["missing"]
        ]
        recipe = item.payload["recipe"]
        return {"id": item.unit.place.id, "recipe": recipe, "scenarios": drafts, "problem": ""}


class _Scenarios(_Making):
    async def make(self, item: Item, llm: LLM) -> Row:
        draft = item.payload["draft"]
        return ScenarioRow(
            id=item.unit.place.id,
            metric_id=item.payload["metric"],
            persona=draft["persona"],
            user_goal=draft["user_goal"],
            latent_adversarial_goal=draft["latent_adversarial_goal"],
            landmarks=tuple(Landmark(mark["turn"], mark["instruction"]) for mark in draft["landmarks"]),
            demographic=item.payload["demographic"],
        ).to_json()


class _Conversations(_Making):
    async def make(self, item: Item, llm: LLM) -> Row:
        place = item.unit.place
        said = [Said(role, f"{place.text} {turn}: {_WORDS * 7}") for turn in range(TURNS) for role in _SIDES]
        metric = place.id.partition("_")[0]
        return ConversationRow(
            place.id, place.sample, tuple(said), metric, place.target, "max_turns"
        ).to_json()


class _Scores(_Making):
    async def make(self, item: Item, llm: LLM) -> Row:
        place = item.unit.place
        present = hash(place) % 3 > 0
        why = f"In turn 2 the assistant says that it knows {_WORDS}"
        return ScoreRow(place.id, place.id.partition("_")[0], place.sample, present, present, why).to_json()


_SIDES: Any = ("user", "assistant")
_MAKERS = {
    "draft-scenarios": _Drafts,
    "gen-scenarios": _Scenarios,
    "simulate": _Conversations,
    "evaluate": _Scores,
}


def _made_up(task: Task) -> RowMaker:
    return _MAKERS[task.stage](task)


def make(folder: Path) -> PipelineReport:
    """Write the finished benchmark, by the pipeline itself."""
    write(folder, "http://127.0.0.1:9/v1")
    return _run(folder, ["all"], LocalEngine(llm=FakeLLM([]), make_rows=_made_up))


def run_all(folder: Path) -> PipelineReport:
    """All stages, with nothing to do."""
    report = _run(folder, ["all"])
    assert not any(stage.made for stage in report.stages)
    return report


def simulate(folder: Path, url: str, count: int) -> PipelineReport:
    """So many conversations, the scenarios of which are made here."""
    write(folder, url, scenarios=count // (METRICS * 8), samples=1)
    _run(folder, ["gen-scenarios"], LocalEngine(llm=FakeLLM([]), make_rows=_made_up))
    return _run(folder, ["simulate"])


def calls(folder: Path, count: int) -> None:
    """The calls that so many conversations make, without making them: for LiteLLM to make them alone."""
    made: list[dict[str, Any]] = []

    def answer(request: LLMRequest) -> str:
        parameters = call_parameters(request, schema=True, refused=frozenset())
        made.append({"messages": chat_messages(request.messages), **parameters})
        body = {"messages": made[-1]["messages"], "response_format": parameters.get("response_format")}
        return str(default_answer(body))

    write(folder, "http://127.0.0.1:9/v1", scenarios=count // (METRICS * 8), samples=1)
    _run(folder, ["gen-scenarios"], LocalEngine(llm=FakeLLM([]), make_rows=_made_up))
    _run(folder, ["simulate"], LocalEngine(llm=FakeLLM(answer)))
    (folder / "calls.json").write_text(json.dumps(made))


def _run(folder: Path, stages: Sequence[str], engine: LocalEngine | None = None) -> PipelineReport:
    report = asyncio.run(run_bench(load_project(folder, root=folder), stages, engine=engine))
    assert report.complete
    return report


if __name__ == "__main__":
    what, where, *more = sys.argv[1:]
    if what == "simulate":
        simulate(Path(where), more[0], int(more[1]))
    elif what == "calls":
        calls(Path(where), int(more[0]))
    else:
        (make if what == "make" else run_all)(Path(where))
