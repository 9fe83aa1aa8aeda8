"""The page on a benchmark as a file: what is in it, what it may do, and the words that are made in Python."""

from __future__ import annotations

import base64
import hashlib
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.report import html_chunks, write_report
from pytest_convoprobe.benchmark.report.material import gather
from pytest_convoprobe.benchmark.report.sections import context
from pytest_convoprobe.benchmark.rows.messages import Said
from pytest_convoprobe.errors import ResultsError
from tests.reports.pages import EVIL, Parsed

from ..reported import (
    AGES,
    ASK,
    aged,
    aggregated,
    folder,
    hostile,
    scenario,
    score,
    talk,
    usual,
    write_cost,
    write_run,
    write_scenarios,
)


@pytest.fixture
def benchmark(tmp_path: Path) -> BenchmarkFolder:
    return usual(tmp_path / "advice")


def told(where: BenchmarkFolder, most: int = 1000) -> dict[str, Any]:
    """What the template is given."""
    return context(gather(where, most))


def text(where: BenchmarkFolder) -> str:
    return "".join(html_chunks(where))


def data(where: BenchmarkFolder, most: int = 1000) -> dict[str, Any]:
    """What is in the elements that are kept until they are looked at, by their id; JSON is read."""
    parsed = Parsed("".join(html_chunks(where, most)))
    kept = [attributes for tag, attributes in parsed.tags if tag == "script"][1:]
    return {
        str(one["id"]): json.loads(text) if one["type"] == "application/json" else text
        for one, text in zip(kept, parsed.texts["script"][1:], strict=True)
    }


def names(entries: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(entry["id"], entry["sample"]) for entry in entries]


# What the file may do.


def test_asks_for_nothing_from_outside(benchmark: BenchmarkFolder) -> None:
    tags = Parsed(text(benchmark)).tags
    loading = [attributes.get(name) for _, attributes in tags for name in ("src", "srcset", "data", "action")]
    assert set(loading) == {None}
    assert not [tag for tag, _ in tags if tag == "link"]
    assert all("style" not in attributes for _, attributes in tags)
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)


def test_the_policy_names_the_only_script_and_style(benchmark: BenchmarkFolder) -> None:
    parsed = Parsed(text(benchmark))
    metas = [attributes for tag, attributes in parsed.tags if tag == "meta"]
    policy = next(one["content"] for one in metas if one.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(parsed.texts[kind][0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    others = [attributes.get("type") for tag, attributes in parsed.tags if tag == "script"][1:]
    assert set(others) == {"application/json", "text/html"}


def test_hostile_texts_make_no_tags(tmp_path: Path) -> None:
    page = text(hostile(tmp_path, EVIL))
    # A script element is text for this parser: what is kept in it is looked at by itself.
    kept = [Parsed(one) for one in Parsed(page).texts["script"][1:]]
    tags = {tag for one in (Parsed(page), *kept) for tag, _ in one.tags}
    assert not tags & {"img", "iframe"}


def test_is_written_where_it_is_asked_for(benchmark: BenchmarkFolder, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    assert write_report(benchmark, out) == out
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


# The figures.


def test_the_best_target_comes_first(benchmark: BenchmarkFolder) -> None:
    board = told(benchmark)["board"]
    assert [(row.target, row.figures[0].share, row.figures[0].of) for row in board] == [
        ("good", "100 %", "30 of 30"),
        ("bad", "38 %", "12 of 32"),
    ]


def test_a_target_has_its_tracks_with_intervals_and_what_gave_no_verdict(benchmark: BenchmarkFolder) -> None:
    good = told(benchmark)["board"][0]
    assert tuple(figure.of for figure in good.figures[1:]) == ("15 of 15", "15 of 15")
    assert good.figures[1].between == "51-100 %"
    assert (good.scored, good.unreadable, good.missing, good.cost) == ("30", 1, 1, "$0.0150")


def test_the_heat_map_has_a_field_for_each_metric_and_target(benchmark: BenchmarkFolder) -> None:
    rows = told(benchmark)["heat"]
    assert [(row.metric, row.kind, [cell.text for cell in row.cells]) for row in rows] == [
        ("Avoid empty praise", "negative", ["100 %", "38 %"]),
        ("Ask first", "positive", ["100 %", "38 %"]),
    ]
    assert [cell.level for cell in rows[0].cells] == [10, 4]
    assert rows[0].cells[0].label == (
        "Avoid empty praise, good: 100 % passed (15 of 15; 51-100 %), 1 unreadable"
    )


def test_rates_of_people_and_variants(benchmark: BenchmarkFolder) -> None:
    found = told(benchmark)
    ((attribute, rows),) = found["people"]
    assert attribute == "age"
    assert [(row.label, [one.share for one in row.figures]) for row in rows] == [
        (AGES[0], ["100 %", "75 %"]),
        (AGES[1], ["100 %", "0 %"]),
    ]
    assert [(row.label, row.more) for row in found["variants"]] == [
        ("v01", f"age: {AGES[0]}"),
        ("v02", f"age: {AGES[1]}"),
    ]


def test_gaps_say_which_of_them_stand(benchmark: BenchmarkFolder) -> None:
    good, bad = told(benchmark)["gaps"]
    assert [(row.first, row.second, row.words, row.significant) for row in bad.rows] == [
        (*AGES, "+75 points (+53 to +97)", True)
    ]
    assert bad.significant == "1 of 1 gap more than chance"
    assert good.significant == "0 of 1 gap more than chance"
    assert bad.scale == ("-100", "+100")
    assert "corrected for all gaps of all targets together, 2 of them (Holm)" in text(benchmark)


def test_agreement_has_a_dash_for_what_cannot_be_told(benchmark: BenchmarkFolder) -> None:
    good, bad = told(benchmark)["agreement"]
    assert good.numbers == ("100 %", "-", "-", "100 %", "100 %, 100 %")
    assert bad.numbers == ("75 %", "0.47", "0.48", "100 %", "50 %, 25 %")


def test_cost_by_stage_and_role(benchmark: BenchmarkFolder) -> None:
    costs = told(benchmark)["costs"]
    assert [(line.label, line.part, line.numbers["cost"]) for line in costs.lines] == [
        ("simulate", False, "$0.0300"),
        ("synthetic user", True, "$0.0100"),
        ("target", True, "$0.0200"),
        ("evaluate", False, "price unknown"),
    ]
    assert costs.total.numbers["calls"] == "25"


# What is missing.


def test_no_results_yet(tmp_path: Path) -> None:
    page = text(folder(tmp_path))
    assert "<h1>Good advice</h1>" in page
    assert "There are no results yet: `convoprobe bench aggregate` makes them from the scores." in page
    assert 'id="leaderboard"' not in page


def test_results_that_cannot_be_read(benchmark: BenchmarkFolder) -> None:
    benchmark.results.write_text("{}")
    with pytest.raises(ResultsError, match="convoprobe bench aggregate"):
        text(benchmark)


def test_no_target_has_been_run(tmp_path: Path) -> None:
    page = text(aggregated(folder(tmp_path)))
    assert "No target has been run yet" in page


def test_a_definition_that_is_broken_by_now(benchmark: BenchmarkFolder) -> None:
    benchmark.benchmark.write_text("metrics: {")
    found = told(benchmark)
    assert found["title"] == "Good advice"
    assert json.loads(found["heat"][0].about) == {
        "name": "Avoid empty praise",
        "definition": "",
        "examples": [],
    }


def plain(path: Path) -> BenchmarkFolder:
    """One target and one scenario for nobody in particular, with one sample and never scored."""
    where = folder(path)
    row = scenario("m02", 1)
    write_scenarios(where, [row])
    write_run(where, "good", [talk(row, "good")])
    return aggregated(where)


@pytest.mark.parametrize(
    "words",
    [
        "With one target there is nothing to compare it with.",
        "No demographics were given: nothing can be said about different people.",
        "Each conversation ran once, so their agreement is unknown",
        "There is no cost.json: the cost is unknown.",
        '<span class="share">-</span> <small>nothing scored</small>',
        'aria-label="Ask first, good: nothing scored, 1 missing"',
    ],
    ids=["one target", "no demographics", "no samples", "no cost", "no rate", "empty field"],
)
def test_what_is_missing_is_said(tmp_path: Path, words: str) -> None:
    assert words in text(plain(tmp_path))


def test_groups_that_share_no_scenario_have_no_gaps(tmp_path: Path) -> None:
    where = folder(tmp_path)
    rows = [scenario("m02", 1, age=AGES[0]), scenario("m02", 2, age=AGES[1])]
    write_scenarios(where, rows)
    write_run(where, "good", scores=[score(row, True) for row in rows])
    assert "No two groups have verdicts on the same scenario" in text(aggregated(where))


@pytest.mark.parametrize(
    "costs",
    ["[]", "{", '{"total": 3}', '{"total": {"cost": "much"}}'],
    ids=["list", "torn", "number", "text"],
)
def test_a_cost_of_another_shape(benchmark: BenchmarkFolder, costs: str) -> None:
    benchmark.cost.write_text(costs)
    assert "cost.json has another shape than ours" in text(benchmark)


def test_a_cost_with_a_text_for_a_number(benchmark: BenchmarkFolder) -> None:
    write_cost(benchmark, evaluate={"calls": "x"})
    assert "cost.json has another shape than ours" in text(benchmark)


def test_results_that_are_older_than_the_scores_say_so(benchmark: BenchmarkFolder) -> None:
    row = scenario("m01", 1, age=AGES[0])
    write_run(benchmark, "good", [talk(row, "good")], [score(row, False)])
    assert told(benchmark)["warnings"][0].startswith(
        "The scores have changed since the results were made (m01, good: 15 of 15 passed then): "
    )


def test_results_of_these_scores_have_no_warning(benchmark: BenchmarkFolder) -> None:
    assert told(benchmark)["warnings"] == []


def test_notes_of_the_results_are_shown(benchmark: BenchmarkFolder) -> None:
    with benchmark.scores("good").open("a") as file:
        file.write("trailing")
    benchmark.scores("bad").write_text("[3]")
    aggregated(benchmark)
    assert any("could not be read" in warning for warning in told(benchmark)["warnings"])


# The conversations.


def test_a_field_has_its_conversations_failed_ones_first(benchmark: BenchmarkFolder) -> None:
    found = data(benchmark)
    assert [entry["state"] for entry in found["k0-0"]] == ["failed"] * 10 + ["passed"] * 6
    assert {entry["id"][:3] for entry in found["k0-0"]} == {"m01"}
    assert [entry["state"] for entry in found["k0-1"]] == ["unreadable"] + ["passed"] * 15
    assert found["k1-1"][0]["state"] == "unscored"
    assert found["k1-1"][0]["verdict"] == "Not evaluated"


def test_an_entry_has_its_justification_conversation_and_scenario(benchmark: BenchmarkFolder) -> None:
    found = data(benchmark)
    entry = found["k0-0"][0]
    assert (entry["id"], entry["sample"]) == ("m01_s001_v01", 2)
    assert entry["why"] == "In turn 2 it does. [m01_s001_v01#2]"
    assert entry["person"] == [["age", AGES[0]]]
    assert entry["file"] == "runs/bad/conversations.json"
    first = found[f"c{entry['n']}"].split("</li>")[0]
    assert (
        '<div class="text" data-place="user">I want to open a second bakery (m01_s001_v01, bad, 2).<' in first
    )
    assert '<div class="text" data-place="reply">What would it cost?<' in first
    about = found[f"s{entry['s']}"]
    assert ["Persona", "A baker who wants to open a second shop."] in about["facts"]
    assert about["landmarks"] == [[1, "Describe the shop."], [2, "Say that all friends love it."]]


def test_why_a_conversation_ended_is_told(benchmark: BenchmarkFolder) -> None:
    ending = '<p class="ending">The conversation ended: the limit of turns was reached.</p>'
    assert data(benchmark)["c1"].endswith(ending)


@pytest.mark.parametrize(
    ("metric", "passed", "words"),
    [
        ("m01", True, "The behaviour, which is not wanted, is absent"),
        ("m01", False, "The behaviour, which is not wanted, is present"),
        ("m02", True, "The behaviour, which is wanted, is present"),
        ("m02", False, "The behaviour, which is wanted, is absent"),
        ("m02", None, "The evaluator's answer could not be read"),
    ],
)
def test_the_verdict_in_words(tmp_path: Path, metric: str, passed: bool | None, words: str) -> None:
    where = folder(tmp_path)
    row = scenario(metric, 1)
    write_scenarios(where, [row])
    write_run(where, "t", [talk(row, "t")], [score(row, passed)])
    found = data(aggregated(where))
    (entry,) = found["k0-0"] or found["k1-0"]
    assert entry["verdict"] == words


def test_a_conversation_that_was_scored_for_another_metric_is_in_both_fields(tmp_path: Path) -> None:
    where = folder(tmp_path)
    row = scenario("m01", 1)
    write_scenarios(where, [row])
    write_run(where, "t", [talk(row, "t")], [score(row, False), score(row, False, metric=ASK)])
    found = data(aggregated(where))
    (own,), (other,) = found["k0-0"], found["k1-0"]
    assert own["n"] == other["n"]
    assert (own["why"][:9], other["why"][:9]) == ("In turn 2", "Nowhere d")


def test_a_score_whose_conversation_is_not_there_is_in_its_field(tmp_path: Path) -> None:
    where = folder(tmp_path)
    row = scenario("m01", 1)
    write_run(where, "t", [], [score(row, False)])
    found = data(aggregated(where))
    assert names(found["k0-0"]) == [(row.id, 1)]
    assert not [name for name in found if name[0] in "cs"]


def test_a_message_without_a_reply_is_kept(tmp_path: Path) -> None:
    where = folder(tmp_path)
    row = scenario("m01", 1)
    held = replace(talk(row, "t"), messages=(Said("user", "Hello?"),), termination="vanished")
    write_scenarios(where, [row])
    write_run(where, "t", [held], [score(row, True)])
    said = data(aggregated(where))["c1"]
    assert ">Hello?<" in said
    assert ">No reply came.<" in said
    assert '<p class="ending">The conversation ended: vanished.</p>' in said


def test_a_limit_leaves_failed_ones_of_every_field_and_says_how_many_are_left_out(
    benchmark: BenchmarkFolder,
) -> None:
    found = data(benchmark, most=6)
    assert [len(found[name]) for name in ("k0-0", "k1-0", "k0-1", "k1-1")] == [3, 3, 0, 0]
    assert {entry["state"] for entry in found["k0-0"] + found["k1-0"]} == {"failed"}
    assert sum(name.startswith("c") for name in found) == 6
    page = "".join(html_chunks(benchmark, 6))
    assert "6 of 64 conversations are in this page, failed ones first: 58 are left out." in page


def test_only_scenarios_of_conversations_in_the_page_are_in_it(benchmark: BenchmarkFolder) -> None:
    assert len([name for name in data(benchmark, most=2) if name.startswith("s")]) == 2


def test_conversations_are_not_kept_in_memory(tmp_path: Path) -> None:
    where = folder(tmp_path)
    rows = [row for number in range(1, 301) for row in aged("m01", number)]
    write_scenarios(where, rows)
    write_run(
        where, "t", [talk(row, "t", reply="x" * 20_000) for row in rows], [score(r, False) for r in rows]
    )
    aggregated(where)
    tracemalloc.start()
    write_report(where, tmp_path / "report.html")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "report.html").stat().st_size > 12_000_000
    assert most < 9_000_000
