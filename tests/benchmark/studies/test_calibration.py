"""An evaluator measured against people."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.format.project import LoadedBenchmark, load_project
from pytest_convoprobe.benchmark.pipeline.pipeline import run_bench
from pytest_convoprobe.benchmark.report.costs import read_costs
from pytest_convoprobe.benchmark.studies.calibration import calibrate
from pytest_convoprobe.benchmark.studies.measures import Calibration, LabelledAnswer, measure
from pytest_convoprobe.errors import LLMUnavailable, SettingsError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.stats import clustered, wilson

from .. import project

SEEN = '{"justification": "In turn 1 it asks.", "present": true}'


@pytest.fixture
def finished(tmp_path: Path) -> LoadedBenchmark:
    """Four scenarios; `bad` praises in all conversations, `good` asks in all."""
    loaded = project.load(project.write(tmp_path / "advice"))
    asyncio.run(run_bench(loaded, ["all"], llm=project.models()))
    return loaded


def labelled(loaded: LoadedBenchmark, *lines: str, llm: FakeLLM | None = None) -> Calibration:
    path = loaded.folder.path / "labels.csv"
    path.write_text("\n".join(["conversation,metric,present,target", *lines, ""]))
    return asyncio.run(calibrate(loaded, path, llm=llm or project.models()))


def refused(loaded: LoadedBenchmark, *lines: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        labelled(loaded, *lines)
    return [str(problem).partition("labels.csv:")[2] for problem in caught.value.problems]


def test_scores_that_are_there_are_taken(finished: LoadedBenchmark) -> None:
    llm = project.models()
    found = labelled(finished, "m01_s001_v01,m01,true,bad", "m01_s001_v01,m01,true,good", llm=llm)
    assert llm.requests == []
    assert (found.overall.rates.tp, found.overall.rates.fn, found.overall.rates.accuracy) == (1, 1, 0.5)
    assert found.model == "openai/evaluator"


def test_scores_that_are_missing_are_made_and_change_no_result(finished: LoadedBenchmark) -> None:
    before = finished.folder.scores("good").read_bytes()
    lines = "m01_s001_v01,m02,true,good", "m01_s001_v01,m02,false,bad"
    llm = project.models()
    found = labelled(finished, *lines, llm=llm)
    assert len(llm.requests) == 2
    assert (found.overall.rates.tp, found.overall.rates.tn) == (1, 1)
    assert finished.folder.scores("good").read_bytes() == before
    again = project.models()
    assert labelled(finished, *lines, llm=again).overall == found.overall
    assert again.requests == []


def test_its_calls_are_told_as_a_part_of_the_cost_of_their_own(finished: LoadedBenchmark) -> None:
    before = json.loads(finished.folder.cost.read_bytes())
    labelled(finished, "m01_s001_v01,m02,true,good", "m01_s001_v01,m02,false,bad")
    found = json.loads(finished.folder.cost.read_bytes())
    assert list(found) == ["gen_metrics", "gen_scenarios", "simulate", "evaluate", "calibrate", "total"]
    assert found["calibrate"]["by_role"]["evaluator"]["calls"] == 2
    assert found["evaluate"] == before["evaluate"]
    assert found["total"]["calls"] == before["total"]["calls"] + 2
    assert [line.label for line in read_costs(finished.folder).lines if not line.part][-1] == "calibrate"


def test_a_key_is_only_asked_for_where_a_score_is_missing(finished: LoadedBenchmark) -> None:
    config = finished.folder.path / "config.yaml"
    config.write_text(config.read_text().replace("apikey: none", "apikey: '${UNSET}'"))
    loaded, labels = project.load(finished.folder.path), finished.folder.path / "labels.csv"
    labels.write_text("conversation,metric,present,target\nm01_s001_v01,m01,true,good\n")
    assert asyncio.run(calibrate(loaded, labels)).overall.labels == 1
    labels.write_text("conversation,metric,present,target\nm01_s001_v01,m02,true,good\n")
    shutil.rmtree(finished.folder.rows)
    with pytest.raises(SettingsError, match="UNSET is not set"):
        asyncio.run(calibrate(loaded, labels))
    assert not finished.folder.rows.exists()


def test_another_evaluator_is_asked_anew(finished: LoadedBenchmark) -> None:
    other = project.load(finished.folder.path, evaluator_model__model="other/evaluator")
    llm = project.models()
    labelled(other, "m01_s001_v01,m01,true,bad", llm=llm)
    assert [request.model.model for request in llm.requests] == ["other/evaluator"]


def test_scores_of_an_evaluator_that_nobody_knows_are_not_taken_for_its_own(
    finished: LoadedBenchmark,
) -> None:
    path = finished.folder.scores("bad")
    rows = [{**row, "key": "", "justification": "Theirs."} for row in json.loads(path.read_bytes())]
    path.write_text(json.dumps(rows))
    llm = project.models()
    labelled(finished, "m01_s001_v01,m01,true,bad", llm=llm)
    assert len(llm.requests) == 1


def test_rates_by_metric(finished: LoadedBenchmark) -> None:
    found = labelled(
        finished, "m01_s001_v01,m01,true,bad", "m01_s002_v01,m01,false,bad", "m02_s001_v01,m02,true,good"
    )
    accuracies = {metric_id: one.rates.accuracy for metric_id, one in found.by_metric.items()}
    assert accuracies == {"m01": 0.5, "m02": 1.0}
    assert found.overall.labels == 3


def test_disagreements_are_shown_side_by_side(finished: LoadedBenchmark) -> None:
    llm = project.models(evaluator=SEEN)
    other = project.load(finished.folder.path, evaluator_model__model="other/evaluator")
    found = labelled(other, "m02_s001_v01,m02,false,good", "m02_s001_v01,m02,true,bad", llm=llm)
    assert [one.to_json() for one in found.disagreements] == [
        {
            "target": "good",
            "id": "m02_s001_v01",
            "sample": 1,
            "metric_id": "m02",
            "human": False,
            "evaluator": True,
            "justification": "In turn 1 it asks.",
            "excerpt": project.QUESTION,
        }
    ]


def test_the_excerpt_is_of_the_turn_that_the_justification_names(finished: LoadedBenchmark) -> None:
    path = finished.folder.conversations("good")
    rows = json.loads(path.read_bytes())
    said = ["Hello.", "First reply.", "And?", "Second reply."]
    for row in rows:
        row["transcript"] = [
            {"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)
        ]
    path.write_text(json.dumps(rows))

    def excerpt(model: str, why: str) -> str:
        loaded = project.load(finished.folder.path, evaluator_model__model=f"{model}/evaluator")
        llm = project.models(evaluator=json.dumps({"justification": why, "present": True}))
        (one,) = labelled(loaded, "m02_s001_v01,m02,false,good", llm=llm).disagreements
        return one.excerpt

    assert excerpt("a", "It asks in turn 1.") == "First reply."
    assert excerpt("b", "It asks.") == "Second reply."
    assert excerpt("c", "It asks in turn 7.") == "Second reply."


def test_unreadable_answers_are_counted_apart(finished: LoadedBenchmark) -> None:
    other = project.load(finished.folder.path, evaluator_model__model="other/evaluator")
    found = labelled(other, "m01_s001_v01,m01,true,bad", llm=project.models(evaluator="Well, who knows."))
    assert (found.overall.unreadable, found.overall.failed, found.overall.rates.accuracy) == (1, 0, None)


def test_labels_without_an_answer_are_told_with_the_reason(finished: LoadedBenchmark) -> None:
    other = project.load(finished.folder.path, evaluator_model__model="other/evaluator")
    llm = project.models(evaluator=LLMUnavailable("the provider is away"))
    found = labelled(other, "m01_s001_v01,m01,true,bad", llm=llm)
    assert found.overall.failed == 1
    assert [(place.text, reason) for place, reason in found.failed] == [
        ("m01_s001_v01#1", "the provider is away")
    ]
    assert found.to_json()["failed"] == [
        {"target": "bad", "conversation": "m01_s001_v01#1", "reason": "the provider is away"}
    ]


def test_labels_of_nothing_that_there_is_are_refused(finished: LoadedBenchmark) -> None:
    assert refused(
        finished,
        "m01_s001_v01,m09,true,bad",
        "m01_s001_v01,m01,true,worst",
        "m01_s009_v01,m01,true,bad",
        "m01_s001_v01#2,m01,true,",
    ) == [
        "2: there is no metric 'm09'; benchmark.yaml has m01, m02",
        "3: there is no target 'worst'; the settings have good, bad",
        "4: the target bad has no conversation m01_s009_v01#1; conversations.json says which there are",
        "5: no target has a conversation m01_s001_v01#2; conversations.json says which there are",
    ]


def test_a_conversation_that_several_targets_have_needs_a_target(finished: LoadedBenchmark) -> None:
    assert refused(finished, "m01_s001_v01,m01,true,") == [
        "2: several targets have a conversation m01_s001_v01#1 (good, bad); add a column `target`"
    ]
    folder = finished.folder.path
    alone = load_project(folder, root=folder, target="good", environ={})
    assert labelled(alone, "m01_s001_v01,m01,false,").overall.rates.tn == 1


def test_contradicting_labels_are_refused(finished: LoadedBenchmark) -> None:
    assert refused(finished, "m01_s001_v01,m01,true,bad", "m01_s001_v01#1,m01,false,bad") == [
        "3: m01_s001_v01#1 has m01 as false here and as true in line 2; keep the one that is meant"
    ]


def test_a_label_that_is_there_twice_counts_once_and_is_told(finished: LoadedBenchmark) -> None:
    found = labelled(finished, "m01_s001_v01,m01,true,bad", "m01_s001_v01#1,m01,yes,bad")
    assert found.overall.labels == 1
    (note,) = found.notes
    assert note.endswith("labels.csv:3 says again what line 2 says; it counts once")


def test_rates_by_hand() -> None:
    """People see it in four of ten: of those the evaluator sees three; of the other six it sees one."""
    said = [(True, True)] * 3 + [(True, False)] + [(False, True)] + [(False, False)] * 5
    answers = [LabelledAnswer("m01", *both, scenario=f"m01_s{place:03d}") for place, both in enumerate(said)]
    found = measure(
        [*answers, LabelledAnswer("m01", True, None), LabelledAnswer("m01", True, None, failed=True)]
    )
    assert (found.labels, found.unreadable, found.failed) == (12, 1, 1)
    assert found.rates.accuracy == 0.8
    assert found.accuracy_interval == clustered([[True]] * 8 + [[False]] * 2)
    assert found.rates.sensitivity == 0.75
    assert found.sensitivity_interval == clustered([[True]] * 3 + [[False]])
    assert found.rates.specificity == pytest.approx(5 / 6)
    assert found.specificity_interval == clustered([[True]] * 5 + [[False]])
    # By chance they would agree in 4/10 * 4/10 + 6/10 * 6/10 of cases.
    assert found.kappa == pytest.approx((0.8 - 0.52) / 0.48)
    assert found.kappa_interval is not None
    assert found.kappa_interval.low < found.kappa < found.kappa_interval.high


def test_many_conversations_about_one_scenario_say_no_more_than_the_scenario() -> None:
    """Five of six scenarios are seen as people see them; ten conversations of each are the same again."""
    said = [(True, True), (False, False), (True, True), (False, False), (True, True), (False, True)]
    once, often = (
        measure(
            [
                LabelledAnswer("m01", *both, scenario=f"s{place}")
                for place, both in enumerate(said)
                for _ in range(times)
            ]
        )
        for times in (1, 10)
    )
    assert often.kappa == pytest.approx(once.kappa)
    assert often.kappa_interval == once.kappa_interval
    for name in ("accuracy_interval", "sensitivity_interval", "specificity_interval"):
        few, many = getattr(once, name), getattr(often, name)
        assert many.high - many.low >= 0.9 * (few.high - few.low)


def test_variants_samples_and_targets_of_a_scenario_are_one_cluster(finished: LoadedBenchmark) -> None:
    one = labelled(finished, "m01_s001_v01,m01,true,bad", "m01_s001_v01,m01,false,good")
    two = labelled(finished, "m01_s001_v01,m01,true,bad", "m01_s002_v01,m01,false,good")
    assert one.overall.rates == two.overall.rates
    assert one.overall.accuracy_interval == wilson(1, 1)
    assert two.overall.accuracy_interval == wilson(2, 2)


def test_without_labels_nothing_is_known() -> None:
    found = measure([]).to_json()
    assert found["accuracy"] is found["kappa"] is found["sensitivity_interval"] is None
    assert found["labels"] == 0


ANSWERS = st.lists(
    st.builds(
        LabelledAnswer,
        st.just("m01"),
        st.booleans(),
        st.none() | st.booleans(),
        scenario=st.sampled_from(["s1", "s2", "s3"]),
    ),
    max_size=30,
)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_labels_changes_nothing(answers: list[LabelledAnswer], order: random.Random) -> None:
    assert measure(order.sample(answers, len(answers))) == measure(answers)


@given(ANSWERS, st.integers(0, 5))
def test_unreadable_answers_change_no_rate(answers: list[LabelledAnswer], more: int) -> None:
    before, after = measure(answers), measure([*answers, *[LabelledAnswer("m01", True, None)] * more])
    assert (before.rates, before.kappa, before.kappa_interval) == (
        after.rates,
        after.kappa,
        after.kappa_interval,
    )
    assert after.unreadable == before.unreadable + more
