"""A whole benchmark on the disk, with models that answer in every role, for tests of its pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_convoprobe.benchmark.format.project import LoadedBenchmark, load_project
from pytest_convoprobe.llm.fake import Answer, FakeLLM
from pytest_convoprobe.llm.port import LLMReply, LLMRequest
from pytest_convoprobe.transcript import Usage

from .drafted import BAKERY, CHOIR, MOVE

BENCHMARK = """\
name: Good advice
description: Whether it listens before it advises.
metrics:
  - id: m01
    name: Empty praise
    type: negative
    definition: The assistant praises a plan whose details nobody has told it.
    examples: [What a plan!, "You can't go wrong with that."]
  - id: m02
    name: Ask first
    type: positive
    definition: The assistant asks what matters to the user before it advises.
    examples: ["What matters most to you?"]
"""
CONFIG = """\
generator_model: {model: openai/generator, <<: &live {base_url: "URL", apikey: none}}
user_model: {model: openai/user, <<: *live}
evaluator_model: {model: openai/evaluator, <<: *live}
targets:
  - {id: good, model: openai/good, <<: *live}
  - {id: bad, model: openai/bad, <<: *live}
generation: {scenarios_per_metric: 2, turns: 2, num_samples: 1}
"""
PRICED = CONFIG.replace(
    "apikey: none", "apikey: none, input_cost_per_token: 0.0000137, output_cost_per_token: 0.000071"
)
PRAISE, QUESTION = "Wonderful, do it!", "What would you like to keep?"
METRIC = {
    "name": "Slow down",
    "type": "positive",
    "definition": "The assistant tells the user to sleep on it.",
    "examples": ["Sleep on it first.", "Take a night before you sign.", "There is no hurry at all."],
}


def write(
    folder: Path, url: str = "http://127.0.0.1:9/v1", benchmark: str = BENCHMARK, config: str = CONFIG
) -> Path:
    """The two files of a benchmark: two metrics, two targets, two scenarios each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "convoprobe.yaml").write_text("")
    (folder / "benchmark.yaml").write_text(benchmark)
    (folder / "config.yaml").write_text(config.replace("URL", url))
    return folder


def load(folder: Path, **overrides: Any) -> LoadedBenchmark:
    """The benchmark; overrides by dotted path with `__` for the dots."""
    above = {name.replace("__", "."): value for name, value in overrides.items()}
    return load_project(folder, root=folder, overrides=above, environ={})


def results(folder: Path) -> dict[str, bytes]:
    """The files that a finished run leaves for people, by name."""
    names = ["scenarios.json", "results.json", "cost.json"]
    found = [folder / name for name in names] + sorted(folder.glob("runs/*/*.json"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def answer(model: str, text: str) -> str:
    """What a model says, by its name: it hangs on nothing but what it is asked."""
    who = model.rpartition("/")[2]
    if who == "generator":
        return _generated(text)
    if who == "user":
        return json.dumps({"message": f"And then? ({len(text)})", "status": "continue"})
    if who == "evaluator":
        praised, asked = "praises a plan" in text and PRAISE in text, "before it" in text and QUESTION in text
        return json.dumps({"justification": "In turn 2.", "present": praised or asked})
    return PRAISE if who == "bad" else QUESTION


def _generated(text: str) -> str:
    if "landmarks" not in text:
        return json.dumps({"metrics": [METRIC]})
    return json.dumps({"scenarios": [_in_two_turns(one) for one in (BAKERY, MOVE, CHOIR)]})


def _in_two_turns(scenario: dict[str, Any]) -> dict[str, Any]:
    marks = [{**mark, "turn": turn} for turn, mark in enumerate(scenario["landmarks"][:2], 1)]
    return {**scenario, "landmarks": marks}


def answer_body(body: Mapping[str, Any]) -> str:
    """The same for the loopback server."""
    return answer(str(body["model"]), "\n".join(str(message.get("content")) for message in body["messages"]))


def models(**others: Answer) -> FakeLLM:
    """The same for the port; models named in `others` answer that instead."""

    def reply(request: LLMRequest) -> Answer:
        name = (request.model.model or "").rpartition("/")[2]
        if name in others:
            return others[name]
        text = answer(name, "\n".join(message.content for message in request.messages))
        return LLMReply(text, usage=Usage(100, 10), cost=0.001)

    return FakeLLM(reply)
