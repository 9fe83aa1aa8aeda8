"""What people say of conversations, as csv and as JSON Lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.benchmark.format.labels import Label, read_labels
from pytest_convoprobe.errors import SettingsError

LABELS = [Label(2, "m01_s001_v01", 1, "m01", True), Label(3, "m01_s001_v01", 2, "m02", False)]


def read(tmp_path: Path, text: str, name: str = "labels.csv") -> list[Label]:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read_labels(path)


def problems(tmp_path: Path, text: str, name: str = "labels.csv") -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text, name)
    return [str(problem).partition(f"{name}:")[2] or str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "text",
    [
        "conversation,metric,present\nm01_s001_v01,m01,true\nm01_s001_v01#2,m02,false\n",
        "conversation,metric,present,sample\nm01_s001_v01,m01,yes,\nm01_s001_v01,m02,no,2\n",
        "\ufeffid;metric_id;present;comment\r\nm01_s001_v01;m01;1;\r\nm01_s001_v01#2;m02;0;a, b\r\n",
        'Present\tConversation\tMetric\nTRUE\t"m01_s001_v01"\tm01\n False \t m01_s001_v01#2\tm02',
    ],
    ids=["plain", "with samples", "from a spreadsheet", "tabs"],
)
def test_csv_in_any_common_form(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == LABELS


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.txt"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    text = (
        "\n"
        '{"conversation": "m01_s001_v01", "metric": "m01", "present": true}\n'
        '{"conversation": "m01_s001_v01", "metric": "m02", "present": 0, "sample": 2}\n'
    )
    assert read(tmp_path, text, name) == LABELS


def test_a_target_may_be_named(tmp_path: Path) -> None:
    (label,) = read(tmp_path, "conversation,metric,present,target\nm01_s001_v01,m01,y,gpt\n")
    assert label.target == "gpt"


def test_every_line_that_cannot_be_used_is_told_with_what_was_expected(tmp_path: Path) -> None:
    text = "conversation,metric,present\na,m01,maybe\n,m01,true\na#x,m01,true\na,m01,true,more\nb,m01,\n"
    expected = "true or false (yes or no, 1 or 0 will do)"
    columns = f"expected are conversation, metric and present ({expected}), as csv with a header or as jsonl"
    assert problems(tmp_path, text) == [
        f'2:7: present: must be {expected}, got the text "maybe"',
        f"3:1: conversation: this key is required, and it is missing; {columns}",
        '4: sample: must be a whole number from 1, got the text "x"',
        "5:12: the line has 4 values, but the header has 3 columns",
        f"6:7: present: this key is required, and it is missing; {columns}",
    ]


def test_a_header_without_a_column_is_told_once(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, "conversation,verdict\na,true\nb,false\n")
    assert told.startswith("1:1: the header has no column metric and no present; expected are conversation,")


def test_lines_that_are_no_json_objects_are_told(tmp_path: Path) -> None:
    first, second = problems(tmp_path, '{"conversation": \n["a"]\n', "labels.jsonl")
    assert first.startswith("1:18: the line is not JSON (Expecting value")
    assert second.startswith("2:1: the line is not a JSON object; expected are")


def test_two_samples_on_one_line_contradict_each_other(tmp_path: Path) -> None:
    text = "conversation,metric,present,sample\na#2,m01,true,3\n"
    assert problems(tmp_path, text) == ['2:14: sample: must be 2, as in the conversation, got the text "3"']


def test_of_very_many_problems_the_first_are_told(tmp_path: Path) -> None:
    told = problems(tmp_path, "conversation,metric,present\n" + "a,m01,?\n" * 50)
    assert len(told) == 21
    assert told[-1].strip() == "and 30 more"


@pytest.mark.parametrize("text", ["", "conversation,metric,present\n"])
def test_a_file_without_labels_is_told(tmp_path: Path, text: str) -> None:
    (told,) = problems(tmp_path, text)
    assert "there are no labels in it; expected are conversation, metric and present" in told


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.csv: the labels cannot be read: .*No such file"):
        read_labels(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"a, ""b""",m01,perhaps\n', "2:16: present: "),
        ('"a\nb",m01,perhaps\n', "3: present: "),
        ("  a ,\tm01, perhaps\n", "2:11: present: "),
    ],
    ids=["delimiters in quotes", "a line break in quotes", "blanks"],
)
def test_a_value_of_a_csv_file_has_a_column(tmp_path: Path, text: str, place: str) -> None:
    (found,) = problems(tmp_path, f"conversation,metric,present\n{text}")
    assert found.startswith(place)


def test_a_misspelt_name_has_a_column(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, "conversation,metric,presnt\na,m01,true\n")
    assert found.startswith("1:21: presnt: unknown key; did you mean `present`?")


def test_a_value_of_a_json_line_has_a_column(tmp_path: Path) -> None:
    text = '{"conversation": "a", "metric": "m01", "present" : "perhaps"}\n'
    (found,) = problems(tmp_path, text, "labels.jsonl")
    assert found.startswith("1:52: present: ")


def test_a_key_that_a_json_line_has_twice_is_a_problem(tmp_path: Path) -> None:
    text = '{"conversation": "a", "metric": "m01", "present": true, "present": false}\n'
    (found,) = problems(tmp_path, text, "labels.jsonl")
    assert "the key `present` is given twice in this line" in found
