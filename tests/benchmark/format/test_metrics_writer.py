"""Metrics are written into a file that somebody keeps by hand, and nothing else in it changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.format.definition import read_benchmark
from pytest_convoprobe.benchmark.format.metrics_writer import new_benchmark, set_metrics
from pytest_convoprobe.benchmark.format.models import Metric, MetricType
from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.yaml_source import parse

ASKS = Metric(id="m01", name="Asks", definition="It asks first.", examples=("Why?", "Since when?"))
FLATTERS = Metric(
    id="m02", name="Flatters", type=MetricType.NEGATIVE, definition="It flatters.", examples=("Brilliant!",)
)

Written = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """`written(text, *metrics)`: the file's text afterwards."""
    path = tmp_path / "benchmark.yaml"

    def _written(text: str, *metrics: Metric) -> str:
        path.write_bytes(text.encode())
        set_metrics(path, metrics)
        return path.read_bytes().decode()

    return _written


def test_new_metrics_are_appended_in_the_files_own_style(written: Written) -> None:
    text = 'name: b\nmetrics:\n- id: "m01"   # mine\n  name: Asks\n\n# The rest.\ngate: {}\n'
    assert written(text, FLATTERS) == (
        'name: b\nmetrics:\n- id: "m01"   # mine\n  name: Asks\n'
        "- id: m02\n  name: Flatters\n  type: negative\n  definition: It flatters.\n  examples:\n"
        "    - Brilliant!\n\n# The rest.\ngate: {}\n"
    )


def test_empty_lines_between_metrics_are_kept_up(written: Written) -> None:
    text = "name: b\nmetrics:\n  - id: a\n\n  - id: b\n"
    assert written(text, Metric(id="c"), Metric(id="d")).endswith(
        "  - id: b\n\n  - id: c\n    type: positive\n\n  - id: d\n    type: positive\n"
    )


def test_what_is_missing_is_filled_in_and_what_is_there_stays(written: Written) -> None:
    text = (
        "name: b\nmetrics:\n"
        "  - name: 'My own'  # keep\n    definition: >-\n      Mine,\n      too.\n\n# end\n"
    )
    assert written(text, ASKS) == (
        "name: b\nmetrics:\n"
        "  - id: m01\n    name: 'My own'  # keep\n    definition: >-\n      Mine,\n      too.\n"
        "    type: positive\n    examples:\n      - Why?\n      - Since when?\n\n# end\n"
    )


def test_keys_that_were_left_empty_get_their_values_in_place(written: Written) -> None:
    text = (
        "name: b\nmetrics:\n  - id: m01\n    examples:  # to come\n    definition:   # later\n    name: ''\n"
    )
    assert written(text, ASKS) == (
        "name: b\nmetrics:\n  - id: m01\n    examples:  # to come\n      - Why?\n      - Since when?\n"
        '    definition: "It asks first."   # later\n    name: Asks\n    type: positive\n'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("name: b\n", "name: b\nmetrics:\n  - id: c\n    type: positive\n"),
        ("name: b", "name: b\nmetrics:\n  - id: c\n    type: positive"),
        ("metrics:\nname: b\n", "metrics:\n  - id: c\n    type: positive\nname: b\n"),
        ("metrics: ~ # none\nname: b", "metrics: # none\n  - id: c\n    type: positive\nname: b"),
        ("metrics: []   # none\nname: b", "metrics:   # none\n  - id: c\n    type: positive\nname: b"),
        ("---\nname: b\n...\n", "---\nname: b\nmetrics:\n  - id: c\n    type: positive\n...\n"),
        ("{name: b}", '{name: b, "metrics": [{"id": "c", "type": "positive"}]}'),
        ("{name: b, metrics: []}", '{name: b, metrics: [{"id": "c", "type": "positive"}]}'),
        ("{name: b, metrics: }", '{name: b, metrics: [{"id": "c", "type": "positive"}] }'),
        (
            "metrics: [{id: a, type: negative}, # first\n]\nname: b",
            'metrics: [{id: a, type: negative}, {"id": "c", "type": "positive"}, # first\n]\nname: b',
        ),
    ],
)
def test_where_metrics_go(written: Written, before: str, after: str) -> None:
    assert written(before, Metric(id="c")) == after


def test_whatever_can_be_read_can_be_added_to(written: Written) -> None:
    text = "name: b\nmetrics:\n  - {id: a, examples: [What else?]}\n"
    assert "[What else?]" in written(text, FLATTERS)


def test_a_metric_in_brackets_is_filled_in_within_them(written: Written) -> None:
    text = "name: b\nmetrics:\n  - {name: Asks, definition: , }  # mine\n  - {}\n"
    assert written(text, ASKS, FLATTERS) == (
        'name: b\nmetrics:\n  - {"id": "m01", name: Asks, definition: "It asks first.", "type": "positive", '
        '"examples": ["Why?", "Since when?"] , }  # mine\n'
        '  - {"id": "m02", "name": "Flatters", "type": "negative", "definition": "It flatters.", '
        '"examples": ["Brilliant!"]}\n'
    )


def test_line_ends_of_windows_stay(written: Written) -> None:
    text = written("name: b\r\n# c\r\nmetrics:\r\n  - id: m01\r\n", ASKS)
    assert text.startswith("name: b\r\n# c\r\nmetrics:\r\n  - id: m01\r\n    name: Asks\r\n")
    assert text.count("\n") == text.count("\r\n")


def test_a_byte_order_mark_stays(written: Written) -> None:
    assert written("\ufeffname: b\n", Metric(id="c")).startswith("\ufeffname: b\nmetrics:\n")


def test_text_of_any_script_is_written_as_it_is(written: Written) -> None:
    assert "name: Fragt höflich 礼貌 🙂\n" in written("name: b", Metric(id="c", name="Fragt höflich 礼貌 🙂"))


def test_a_text_that_keeps_its_last_lines_keeps_them(written: Written) -> None:
    text = "name: b\nmetrics:\n  - id: m01\n    definition: |+\n      Mine.\n\n\ngate: {}\n"
    assert written(text, Metric(id="m01", name="x")) == text.replace(
        "gate", "    name: x\n    type: positive\ngate"
    )


def test_anchors_and_merges_of_the_file_stay(written: Written) -> None:
    text = "name: b\nx-base: &base {type: negative}\nmetrics:\n  - <<: *base\n    id: m01\n"
    assert written(text, Metric(id="m01", name="x")) == f"{text}    name: x\n"


def test_a_file_that_has_all_is_not_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text("name: b\nmetrics: [{id: m01, name: Mine, definition: d, type: negative, examples: [e]}]")
    before = path.stat()
    set_metrics(path, [ASKS])
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("name: b")
    (tmp_path / "benchmark.yaml").symlink_to("real.yaml")
    set_metrics(tmp_path / "benchmark.yaml", [ASKS])
    assert (tmp_path / "benchmark.yaml").is_symlink()
    assert "It asks first." in (tmp_path / "real.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: b\n---\nname: c", "a benchmark is one YAML document; this begins another one"),
        ("name: [", "invalid YAML"),
        (
            "x: &m {name: A}\nname: b\nmetrics:\n  - *m\n",
            "cannot be put in here without changing something else",
        ),
        ("x: &m [{name: A}]\nname: b\nmetrics: *m\n", ":3:1: metrics: metrics cannot be put in here"),
    ],
)
def test_what_cannot_be_added_to_is_refused_and_left_alone(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        set_metrics(path, [ASKS])
    assert words in str(caught.value)
    assert path.read_text() == text


def test_a_new_benchmark_can_be_read_and_completed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "benchmark.yaml"
    new_benchmark(path, "Coaching: first", "Two\nlines", "At work.")
    set_metrics(path, [ASKS])
    benchmark, notices = read_benchmark(path)
    assert (benchmark.name, benchmark.description) == ("Coaching: first", "Two\nlines")
    assert (benchmark.scenario.user_context, benchmark.metrics, notices) == ("At work.", (ASKS,), ())
    assert "# Each metric is one behaviour" in path.read_text()


def test_a_benchmark_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text("name: mine")
    with pytest.raises(SettingsError, match="there is a benchmark already; it was left as it is"):
        new_benchmark(path, "x", "y")
    assert path.read_text() == "name: mine"


# By property: the text around the metrics, and every line of those that are there, stays to the letter.

_ANY = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
_WORDS = st.text("abc ü#:'-\"", min_size=1, max_size=12).filter(str.strip)
_TEXTS = _ANY | st.sampled_from(["yes", "- a", "a: b", "", "#", "|", "null", "1", "a\nb\n", " a ", "x " * 90])
_COMMENTS = st.lists(st.sampled_from(["", "   ", "# plain", "# ünï — code", "#"]), max_size=3)
_STYLES = [lambda text: f"'{text.replace(chr(39), chr(39) * 2)}'", lambda text: f"|-\n      {text}x"]


@st.composite
def _lines(draw: st.DrawFn) -> list[str]:
    """A metric as somebody might write it by hand, with the indent of a list below its key."""
    lines = [f"  - id: own{draw(st.integers(0, 10**9))}"]
    for key in draw(st.permutations(["name", "definition", "rationale"]))[: draw(st.integers(0, 3))]:
        style = draw(st.sampled_from(_STYLES))
        lines += draw(_COMMENTS)
        lines.append(f"    {key}:  {style(draw(_WORDS))}")
    return [*lines, *draw(_COMMENTS)]


@st.composite
def _files(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """The lines before, of, and after the metrics."""
    before = [*draw(_COMMENTS), "name:   'b'  # name", *draw(_COMMENTS)]
    items = draw(st.lists(_lines(), min_size=1, max_size=3, unique_by=lambda lines: lines[0]))
    metrics = [line for item in items for line in item]
    after = ["gate: {min_pass_rate:   0.5}", "zz: &a [1,  2]", "yy: *a", *draw(_COMMENTS)]
    return before, ["metrics:  # mine", *metrics], after


_METRICS = st.builds(
    Metric,
    id=st.from_regex(r"new[0-9]{1,4}", fullmatch=True),
    name=_TEXTS,
    type=st.sampled_from(MetricType),
    definition=_TEXTS,
    examples=st.lists(_TEXTS.filter(str.strip), max_size=3).map(tuple),
)


@given(
    parts=_files(),
    new=st.lists(_METRICS, max_size=3, unique_by=lambda metric: metric.id),
    line_end=st.sampled_from(["\n", "\r\n"]),
    final=st.booleans(),
)
def test_everything_else_stays_to_the_letter(
    parts, new, line_end: str, final: bool, tmp_path_factory
) -> None:
    before, metrics, after = parts
    text = "\n".join([*before, *metrics, *after]) + ("\n" if final else "")
    text = text.replace("\n", line_end)
    path = tmp_path_factory.mktemp("property") / "benchmark.yaml"
    path.write_bytes(text.encode())
    ids = [line.split()[-1] for line in metrics if line.startswith("  - id")]
    filled = [
        Metric(id=own, name="Given", definition="Given.", examples=("Given",)) for own in dict.fromkeys(ids)
    ]
    set_metrics(path, [*filled, *new])
    changed = path.read_bytes().decode()

    kept = iter(changed.split(line_end))
    assert all(line in kept for line in text.split(line_end)), "a line is gone, changed or moved"
    head, tail = line_end.join(before), line_end.join(after)
    assert changed.startswith(head)
    assert changed.endswith(tail + (line_end if final else ""))
    (document,) = parse(changed).documents
    found = {item["id"]: item for item in document.value["metrics"]}
    for metric in new:
        assert found[metric.id].get("examples", []) == list(metric.examples)
        assert found[metric.id].get("definition", "").strip() == metric.definition.strip()
    assert all({"name", "definition", "examples"} <= set(found[own]) for own in ids)
