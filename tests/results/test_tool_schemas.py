from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_convoprobe.llm.port import ToolSpec
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.results.compare import compare
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.history import trends
from pytest_convoprobe.results.tool_schemas import ToolSchemas, tool_changes, tool_records, tools_file
from pytest_convoprobe.results.writer import RunWriter

from .support import row

OLD, NEW = "0" * 16, "1" * 16
ORDER = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def changes(old: list[ToolSpec], new: list[ToolSpec]) -> list[str]:
    return tool_changes(tool_records(old), tool_records(new))


def test_each_difference_is_named() -> None:
    before = [ToolSpec("look", "Look it up.", ORDER), ToolSpec("gone", "", {}), ToolSpec("same", "", ORDER)]
    properties = {"id": {"type": "integer"}, "reason": {"type": "string"}}
    after = [
        ToolSpec("look", "Look up.", {"type": "object", "properties": properties}),
        ToolSpec("came", "", {}),
        ToolSpec("same", "", ORDER),
    ]
    assert changes(before, after) == [
        "`came` added",
        "`gone` removed",
        "`look`: parameter `id`, parameter `reason` added, parameter `id` optional now, description",
    ]


def test_a_difference_elsewhere_in_the_schema_is_said_too() -> None:
    assert changes([ToolSpec("a", "", {})], [ToolSpec("a", "", {"additionalProperties": False})]) == [
        "`a`: schema"
    ]


def stored(tmp_path: Path, *tools: tuple[str, list[ToolSpec]]) -> ToolSchemas:
    writer = RunWriter(tmp_path, "run", worker="main", redactor=Redactor(["sesame-1234"]))
    for digest, specs in tools:
        writer.add_tools(digest, specs)
        writer.add_tools(digest, [])  # by another worker: the first one counts
    writer.close()
    assert writer.problem is None
    return ToolSchemas([tmp_path / "runs" / "run"])


def test_a_change_is_shown_beside_verdicts(tmp_path: Path) -> None:
    schemas = stored(tmp_path, (OLD, [ToolSpec("look", "", ORDER)]), (NEW, [ToolSpec("find", "", ORDER)]))
    base, head = (
        row("a", True, run=run, prints=Prints(target_tools=one)) for run, one in (("1", OLD), ("2", NEW))
    )
    words = "target's tools (`find` added; `look` removed)"
    (change,) = compare([base], [head], explain=schemas.explain).changes
    assert change.changed == (words,)
    (trend,) = trends([base, head], explain=schemas.explain)
    assert trend.points[-1].changed == (words,)


def test_secrets_are_masked_and_many_changes_are_counted(tmp_path: Path) -> None:
    many = [ToolSpec(f"t{number}", "the key is sesame-1234", {}) for number in range(7)]
    schemas = stored(tmp_path, (OLD, []), (NEW, many))
    assert schemas.explain(OLD, NEW) == " (`t0` added; `t1` added; `t2` added; `t3` added; 3 more changes)"
    assert "sesame" not in (tmp_path / "runs" / "run" / tools_file(NEW)).read_text()


@pytest.mark.parametrize("content", ["", "[", "{}", '[{"name": 1}]', '[{"name": "a"}]'])
def test_what_cannot_be_read_explains_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / tools_file(OLD)).write_text(content)
    (tmp_path / tools_file(NEW)).write_text("[]")
    assert ToolSchemas([tmp_path]).explain(OLD, NEW) == ""


def test_a_fingerprint_is_not_a_path(tmp_path: Path) -> None:
    (tmp_path / "tools-x.json").write_text(json.dumps([]))
    with pytest.raises(ValueError, match="not a fingerprint"):
        tools_file("../x")
    assert ToolSchemas([tmp_path]).tools("x") is None
