from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import RecordingUnusable, ReplayMiss
from pytest_convoprobe.llm.fingerprint import Fingerprint
from pytest_convoprobe.llm.port import LLMReply, Role, ToolRequest
from pytest_convoprobe.llm.recording import Recording, file_name, recording_path
from pytest_convoprobe.llm.recording_format import FormatError, RecordedCall, dumps, loads
from pytest_convoprobe.transcript import Usage

TODAY = date(2026, 11, 27)


def call(
    text: str = "hello",
    *,
    trial: int = 1,
    role: Role = Role.SYNTHETIC_USER,
    turn: int = 2,
    ordinal: int = 1,
    message: str = "user 0123456789abcdef",
    **reply: object,
) -> RecordedCall:
    fingerprint = Fingerprint("openai/small", {"temperature": 0.0}, (message,))
    return RecordedCall(trial, role, turn, ordinal, fingerprint, LLMReply(text, **reply))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "_recordings" / "orders" / "late-order.json"


def recording(path: Path) -> Recording:
    return Recording(path, today=lambda: TODAY)


def saved(path: Path, *calls: RecordedCall, instead_of: int | None = None) -> None:
    target = recording(path)
    for one in calls:
        target.add(one)
    target.save(instead_of=instead_of)


def texts(path: Path) -> list[str]:
    return [one.reply.text for one in Recording.open(path).calls]


class TestPath:
    def test_beside_the_scenario_file(self) -> None:
        found = recording_path(Path("suite/scenarios/orders.yaml"), "late-order", "_recordings")
        assert found == Path("suite/scenarios/_recordings/orders/late-order.json")

    def test_a_name_with_capitals_and_spaces_stays_readable(self) -> None:
        name = recording_path(Path("orders.yaml"), "Late order: where?", "_recordings").name
        assert name.startswith("late-order-where-")

    def test_stable(self) -> None:
        name = recording_path(Path("orders.yaml"), "Late order", "_recordings").name
        assert name == "late-order-ff5af5ba.json"

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Late order", "late order"),
            ("a-b", "a b"),
            ("é", "e"),
            ("…", "!"),
            ("x" * 80, "x" * 81),
            ("a", "A"),
        ],
    )
    def test_names_that_differ_get_files_that_differ_whatever_the_case(self, one: str, other: str) -> None:
        first, second = (recording_path(Path("a.yaml"), name, "r").name.lower() for name in (one, other))
        assert first != second

    @pytest.mark.parametrize("name", ["con", "nul", "com1", "LPT9", "aux"])
    def test_names_that_windows_keeps_for_itself_are_avoided(self, name: str) -> None:
        assert recording_path(Path("a.yaml"), name, "r").stem.lower() != name.lower()

    def test_two_files_that_differ_in_the_ending_only(self) -> None:
        first, second = (recording_path(Path(name), "a", "r") for name in ("a.yaml", "a.yml"))
        assert first != second

    @pytest.mark.parametrize("stem", ["a:b", "a?", "nul", "a "])
    def test_file_names_that_windows_refuses_get_a_folder_that_it_takes(self, stem: str) -> None:
        folder = recording_path(Path(f"{stem}.yaml"), "a", "r").parent.name
        assert folder != stem
        assert not set(folder) & set(':? "')

    @pytest.mark.parametrize("name", ["x" * 5000, "\u00e4" * 120, "half \ud800", "a\0b", "..", "a/b"])
    def test_any_name_is_made_one_that_a_file_can_have(self, tmp_path: Path, name: str) -> None:
        file = tmp_path / f"{file_name(name)}.json"
        file.touch()
        assert file.parent == tmp_path

    @given(st.text())
    def test_any_name_gives_a_short_plain_file_name(self, name: str) -> None:
        found = recording_path(Path("a.yaml"), name, "r").name
        assert len(found) <= 80
        assert set(found) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


_TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    [
        "",
        "\n",
        "a\nb\n",
        "{}",
        "[]",
        "[NaN]",
        '{"a": 1.10}',
        '{"a":1,"a":2}',
        '{\n  "a": [\n    1\n  ]\n}',
        "null",
    ]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


class TestFormat:
    @given(_TEXT)
    def test_every_text_comes_back_exactly(self, text: str) -> None:
        (back,) = loads(dumps([call(text)], recorded="2026-11-27").encode("utf-8")).calls
        # JSON joins two halves of a surrogate pair, which no provider sends apart.
        assert back.reply.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    @given(_JSON, st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}]))
    def test_every_json_reply_comes_back_exactly(self, value: object, options: dict[str, object]) -> None:
        text = json.dumps(value, **options)  # type: ignore[arg-type]
        (back,) = loads(dumps([call(text)], recorded="2026-11-27")).calls
        assert back.reply.text == text

    def test_a_reply_comes_back_whole_and_marked_as_replayed(self) -> None:
        tools = (ToolRequest("call_x9", "find_order", '{"number": 7}'),)
        given_reply = {
            "tool_requests": tools,
            "usage": Usage(10, 3),
            "cost": 0.002,
            "finish_reason": "tool_calls",
            "top_tokens": {"Yes": -0.25, " No\u200b": -1.5},
        }
        (back,) = loads(dumps([call("", **given_reply)], recorded="2026-11-27")).calls
        assert back.reply == LLMReply(
            "",
            (ToolRequest("call_2_1_1", "find_order", '{"number": 7}'),),
            Usage(10, 3),
            0.002,
            "tool_calls",
            attempts=0,
            replayed=True,
            top_tokens={"Yes": -0.25, " No\u200b": -1.5},
        )

    def test_an_unknown_cost_stays_unknown(self) -> None:
        (back,) = loads(dumps([call(cost=None)], recorded="2026-11-27")).calls
        assert back.reply.cost is None

    def test_sorted_whatever_the_order_of_the_calls(self) -> None:
        calls = [
            call("d", trial=2),
            call("c", turn=3),
            call("b", ordinal=2),
            call("a"),
            call("j", role=Role.JUDGE, turn=0),
        ]
        texts = [dumps(order, recorded="2026-11-27") for order in (calls, calls[::-1])]
        assert texts[0] == texts[1]
        assert [one.reply.text for one in loads(texts[0]).calls] == ["j", "a", "b", "c", "d"]

    def test_reads_well_in_a_review(self) -> None:
        text = dumps(
            [
                call("Größe 42?\nUnd wann kommt sie? 👟", usage=Usage(120, 9), cost=0.5),
                call('{"verdict": "met", "quote": "in \\"blue\\""}', role=Role.JUDGE, turn=0),
            ],
            recorded="2026-11-27",
        )
        assert text == textwrap.dedent(
            """\
            {
              "version": 1,
              "recorded": "2026-11-27",
              "models": {
                "judge": "openai/small",
                "synthetic_user": "openai/small"
              },
              "calls": [
                {
                  "trial": 1,
                  "role": "judge",
                  "turn": 0,
                  "ordinal": 1,
                  "json": {
                    "layout": "spaced",
                    "value": {
                      "verdict": "met",
                      "quote": "in \\"blue\\""
                    }
                  },
                  "finish_reason": "stop",
                  "usage": {
                    "prompt_tokens": 0,
                    "completion_tokens": 0
                  },
                  "request": {
                    "model": "openai/small",
                    "parameters": {
                      "temperature": 0.0
                    },
                    "messages": [
                      "user 0123456789abcdef"
                    ]
                  },
                  "digest": "db0c81035f7d3ca5"
                },
                {
                  "trial": 1,
                  "role": "synthetic_user",
                  "turn": 2,
                  "ordinal": 1,
                  "text": [
                    "Größe 42?",
                    "Und wann kommt sie? 👟"
                  ],
                  "finish_reason": "stop",
                  "usage": {
                    "prompt_tokens": 120,
                    "completion_tokens": 9
                  },
                  "cost": 0.5,
                  "request": {
                    "model": "openai/small",
                    "parameters": {
                      "temperature": 0.0
                    },
                    "messages": [
                      "user 0123456789abcdef"
                    ]
                  },
                  "digest": "1ba10bc48dc30949"
                }
              ],
              "digest": "62ff6234922b5d5d"
            }
            """
        )

    @pytest.mark.parametrize("unseen", ["\u202e", "\u200b", "\u2028", "\ufeff", "\x9b"])
    def test_what_an_editor_would_hide_or_obey_is_shown(self, unseen: str) -> None:
        text = dumps([call(f"a{unseen}b")], recorded="2026-11-27")
        assert f"a\\u{ord(unseen):04x}b" in text
        assert loads(text).calls[0].reply.text == f"a{unseen}b"

    def test_an_unknown_key_is_an_error_that_names_its_place(self) -> None:
        data = json.loads(dumps([call()], recorded="2026-11-27"))
        data["calls"][0]["mood"] = "good"
        with pytest.raises(
            FormatError,
            match=r"calls\[0\]\.mood: unknown key\. Valid here: trial, role, turn, ordinal, text, json,",
        ):
            loads(json.dumps(data))


class TestFile:
    def test_what_was_saved_is_found_again(self, path: Path) -> None:
        one = call("hello")
        saved(path, one)
        found = Recording.open(path).lookup(1, Role.SYNTHETIC_USER, 2, one.request)
        assert found is not None
        assert found.reply.text == "hello"

    def test_nothing_recorded_is_an_empty_recording(self, path: Path) -> None:
        assert Recording.open(path).calls == ()

    def test_another_request_finds_nothing(self, path: Path) -> None:
        saved(path, call())
        other = call(message="user ffffffffffffffff").request
        assert Recording.open(path).lookup(1, Role.SYNTHETIC_USER, 2, other) is None

    @pytest.mark.parametrize(
        "place", [(2, Role.SYNTHETIC_USER, 2), (1, Role.JUDGE, 2), (1, Role.SYNTHETIC_USER, 3)]
    )
    def test_another_trial_role_or_turn_finds_nothing(self, path: Path, place: tuple[int, Role, int]) -> None:
        saved(path, call())
        assert Recording.open(path).lookup(*place, call().request) is None

    def test_equal_calls_of_one_turn_are_told_apart_by_their_order(self, path: Path) -> None:
        saved(path, call("second", ordinal=2), call("first", ordinal=1))
        found = [Recording.open(path).lookup(1, Role.SYNTHETIC_USER, 2, call().request, n) for n in (1, 2, 3)]
        assert [one and one.reply.text for one in found] == ["first", "second", None]

    def test_the_date_of_the_last_change_stands_at_the_top(self, path: Path) -> None:
        saved(path, call())
        assert json.loads(path.read_text("utf-8"))["recorded"] == "2026-11-27"

    def test_saving_adds_to_what_is_there(self, path: Path) -> None:
        saved(path, call("two"))
        saved(path, call("three", turn=3))
        assert texts(path) == ["two", "three"]

    def test_a_trial_is_replaced_and_the_others_stay(self, path: Path) -> None:
        saved(path, call("old 1"), call("old 2", trial=2))
        saved(path, call("new 1", turn=5), instead_of=1)
        assert texts(path) == ["new 1", "old 2"]

    def test_what_another_process_wrote_meanwhile_stays(self, path: Path) -> None:
        first, second = recording(path), recording(path)
        assert first.calls == second.calls == ()
        first.add(call("one"))
        second.add(call("two", trial=2))
        first.save(instead_of=1)
        second.save(instead_of=2)
        assert texts(path) == ["one", "two"]

    def test_what_was_saved_can_be_looked_up_at_once(self, path: Path) -> None:
        target = recording(path)
        assert target.calls == ()
        target.add(call("new"))
        target.save()
        assert [one.reply.text for one in target.calls] == ["new"]

    def test_nothing_but_the_recording_is_left_in_the_folder(self, path: Path) -> None:
        saved(path, call())
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]

    def test_what_a_killed_writer_left_is_removed_by_the_next(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        (path.parent / ".late-order-abc.convoprobe-tmp").write_text("half")
        saved(path, call())
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]

    @pytest.mark.skipif(sys.platform == "win32", reason="rights are POSIX's")
    def test_a_new_file_is_as_readable_as_its_folder(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        path.parent.chmod(0o755)
        saved(path, call())
        assert path.stat().st_mode & 0o777 == 0o644

    def test_line_ends_of_another_system_do_no_harm(self, path: Path) -> None:
        saved(path, call("a\nb"))
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert texts(path) == ["a\nb"]


_BROKEN = {
    "torn": b'{"version": 1, "calls": [{"tri',
    "empty": b"",
    "a list": b"[]",
    "no version": b'{"calls": []}',
    "not UTF-8": b'{"version": 1, "recorded": "\xff"}',
    "a merge conflict": b"<<<<<<< HEAD\n{}\n=======\n",
    "a call without a request": b'{"version": 1, "recorded": "", "models": {}, "calls": [{"trial": 1}]}',
    "nested too deep": b"[" * 100_000,
}


class TestBrokenFile:
    @pytest.mark.parametrize("content", _BROKEN.values(), ids=_BROKEN.keys())
    def test_is_an_error_that_names_the_file_and_what_to_do(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        with pytest.raises(RecordingUnusable) as caught:
            _ = Recording.open(path).calls
        message = str(caught.value)
        assert re.match(rf"{re.escape(str(path))}(:\d+:\d+)?: the recording cannot be read: ", message)
        assert "Restore the file from version control, or delete it" in message

    def test_can_be_recorded_anew(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"torn")
        saved(path, call("new"), instead_of=1)
        assert texts(path) == ["new"]

    def test_is_not_overwritten_by_an_addition(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"torn")
        with pytest.raises(RecordingUnusable):
            saved(path, call("new"))
        assert path.read_bytes() == b"torn"

    def test_of_a_later_version_is_left_alone(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        path.write_text('{"version": 3, "replies": []}')
        with pytest.raises(RecordingUnusable, match=r"version 3 of the format.*Update pytest-convoprobe"):
            saved(path, call("new"), instead_of=1)
        assert path.read_text() == '{"version": 3, "replies": []}'

    def test_a_folder_in_its_place_is_a_clear_error(self, path: Path) -> None:
        path.mkdir(parents=True)
        with pytest.raises(
            ReplayMiss, match=r"the recording cannot be read: (Is a directory|Permission denied)"
        ):
            _ = Recording.open(path).calls

    def test_a_place_that_cannot_be_written_is_a_clear_error(self, path: Path) -> None:
        path.parents[1].write_text("a file where the folder should be")
        with pytest.raises(RecordingUnusable, match="the recording cannot be written"):
            saved(path, call())


class TestEdits:
    """A verdict that was edited must not pass for what the judge said."""

    @pytest.fixture
    def recorded(self, path: Path) -> Path:
        for trial in (1, 2):
            verdicts = [
                call(f'{{"verdict": "{word}"}}', trial=trial, turn=0, role=Role.JUDGE, ordinal=number)
                for number, word in enumerate(("met", "not_met", "met"), 1)
            ]
            saved(path, *verdicts, instead_of=trial)
        return path

    @pytest.mark.parametrize(
        ("old", "new"),
        [('"not_met"', '"met"'), ("0123456789abcdef", "f" * 16)],
        ids=["reply", "request"],
    )
    def test_an_edited_call_is_named_with_its_place(self, recorded: Path, old: str, new: str) -> None:
        text = recorded.read_text(encoding="utf-8")
        recorded.write_text(text.replace(old, new, 1), encoding="utf-8")
        words = r"late-order\.json:\d+:\d+: the recording cannot be read: calls\[[01]\]: this call was edited"
        with pytest.raises(RecordingUnusable, match=words):
            texts(recorded)

    @pytest.mark.parametrize("change", ["drop", "drop last", "swap", "copy"])
    def test_calls_that_were_moved_or_removed_are_found(self, recorded: Path, change: str) -> None:
        data = json.loads(recorded.read_bytes())
        calls = data["calls"]
        if change == "swap":
            calls[0], calls[1] = calls[1], calls[0]
        elif change == "copy":
            calls.append({**calls[-1], "ordinal": 4})
        else:
            del calls[-1 if change == "drop last" else 1]
        recorded.write_text(json.dumps(data), encoding="utf-8")
        with pytest.raises(RecordingUnusable, match=r"(moved|added) or removed"):
            texts(recorded)

    def test_layout_makes_no_difference(self, recorded: Path) -> None:
        data = json.loads(recorded.read_bytes())
        recorded.write_text(json.dumps(data, sort_keys=True), encoding="utf-8")
        assert len(texts(recorded)) == 6

    def test_recordings_without_digests_are_read_and_get_them(self, recorded: Path) -> None:
        data = json.loads(recorded.read_bytes())
        del data["digest"]
        for one in data["calls"]:
            del one["digest"]
        recorded.write_text(json.dumps(data), encoding="utf-8")
        assert len(texts(recorded)) == 6
        saved(recorded, call("new", trial=3), instead_of=3)
        assert all(one["digest"] for one in json.loads(recorded.read_bytes())["calls"])
        assert len(texts(recorded)) == 7


class TestManyWriters:
    def test_threads_lose_nothing(self, path: Path) -> None:
        def write(trial: int) -> None:
            saved(path, call(f"trial {trial}", trial=trial), instead_of=trial)

        threads = [threading.Thread(target=write, args=(trial,)) for trial in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert texts(path) == [f"trial {trial}" for trial in range(1, 9)]

    def test_processes_lose_nothing(self, path: Path) -> None:
        writers = [
            _writer(path, f"for _ in range(10): save('reply', trial={trial})") for trial in range(1, 5)
        ]
        for writer in writers:
            writer.communicate(timeout=60)
        assert [writer.returncode for writer in writers] == [0] * 4
        assert [one.trial for one in Recording.open(path).calls] == [1, 2, 3, 4]

    @pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
    def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(self, path: Path) -> None:
        generator = random.Random(20261127)
        for _ in range(12):
            writer = _writer(
                path,
                """
                import itertools
                for number in itertools.count():
                    save("ab"[number % 2] * 300_000)
                    print(number, flush=True)
                """,
            )
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(generator.uniform(0.0, 0.03))
            os.kill(writer.pid, signal.SIGKILL)
            writer.communicate()
            (text,) = texts(path)
            assert text in ("a" * 300_000, "b" * 300_000)
        saved(path, call("after"), instead_of=1)
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def _writer(path: Path, code: str) -> subprocess.Popen[str]:
    head = f"""
import re
from pathlib import Path
from pytest_convoprobe.llm.fingerprint import Fingerprint
from pytest_convoprobe.llm.port import LLMReply, Role
from pytest_convoprobe.llm.recording import Recording
from pytest_convoprobe.llm.recording_format import RecordedCall

def save(text, trial=1):
    recording = Recording.open(Path({str(path)!r}))
    recording.add(RecordedCall(trial, Role.JUDGE, 0, 1, Fingerprint("m"), LLMReply(text)))
    recording.save(instead_of=trial)

"""
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )


def test_a_broken_file_is_named_as_seen_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "_recordings" / "a.json"
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(RecordingUnusable) as caught:
        _ = Recording.open(path).calls
    assert str(caught.value).startswith("_recordings/a.json: the recording cannot be read: ")


def test_thoughts_are_recorded_where_there_are_some(path: Path) -> None:
    saved(path, call("hi", thoughts="they greet"), call("bye", turn=3))
    assert [one.reply.thoughts for one in recording(path).calls] == ["they greet", ""]
    assert path.read_text(encoding="utf-8").count('"thoughts"') == 1


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
class TestLinks:
    def scenario(self, tmp_path: Path) -> Path:
        (tmp_path / "project" / ".git").mkdir(parents=True)
        (tmp_path / "project" / "scenarios").mkdir()
        return tmp_path / "project" / "scenarios" / "orders.yaml"

    def opened(self, scenario: Path, folder: str) -> Recording:
        return Recording.open(recording_path(scenario, "late-order", folder), folder)

    def test_a_link_out_of_the_project_is_neither_read_nor_written(self, tmp_path: Path) -> None:
        scenario = self.scenario(tmp_path)
        (tmp_path / "elsewhere").mkdir()
        (scenario.parent / "_recordings").symlink_to(tmp_path / "elsewhere")
        opened = self.opened(scenario, "_recordings")
        with pytest.raises(RecordingUnusable, match=r"a link leads out of the project.*`run\.recordings`"):
            assert opened.calls
        opened.add(call())
        with pytest.raises(RecordingUnusable, match="a link leads out of the project"):
            opened.save()
        assert not list((tmp_path / "elsewhere").iterdir())

    @pytest.mark.parametrize("folder", ["_recordings", "../../elsewhere"])
    def test_a_link_within_it_and_a_path_of_the_settings_are_fine(self, tmp_path: Path, folder: str) -> None:
        scenario = self.scenario(tmp_path)
        (tmp_path / "project" / "kept").mkdir()
        (scenario.parent / "_recordings").symlink_to("../kept")
        opened = self.opened(scenario, folder)
        opened.add(call())
        opened.save()
        assert len(self.opened(scenario, folder).calls) == 1

    def test_a_pipe_in_the_place_of_a_recording_is_named(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        os.mkfifo(path)
        with pytest.raises(RecordingUnusable, match="cannot be read: it is a named pipe, not a file"):
            assert recording(path).calls
