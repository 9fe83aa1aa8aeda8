from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_convoprobe.files import (
    Lines,
    locked,
    oddity,
    open_file,
    read_file,
    read_text,
    shown_path,
    write_atomically,
)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_writes_a_new_file_and_replaces_an_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content in (b"old", b"new"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert names(tmp_path) == ["a.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are POSIX's")
def test_the_rights_of_an_old_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_atomically(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "text is no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.json"]


def test_a_folder_in_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(OSError, match=r"(directory|denied)"):
        write_atomically(tmp_path / "a.json", b"new")
    assert names(tmp_path) == ["a.json"]


def test_other_peoples_hidden_files_stay(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("")
    write_atomically(tmp_path / "a.json", b"new")
    assert names(tmp_path) == [".gitignore", "a.json"]


def test_only_one_at_a_time(tmp_path: Path) -> None:
    inside, peaks = 0, []

    def work() -> None:
        nonlocal inside
        for _ in range(5):
            with locked(tmp_path):
                inside += 1
                peaks.append(inside)
                threading.Event().wait(0.001)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert peaks == [1] * 20


def test_the_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    assert names(tmp_path) == []


def test_a_lock_that_stays_taken_is_a_clear_error(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(TimeoutError, match=r"locked for 0\.02 s$"),
        locked(tmp_path, 0.02),
    ):
        pass


def test_two_folders_have_two_locks(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with locked(tmp_path / "a"), locked(tmp_path / "b", timeout=0.0):
        pass


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from pytest_convoprobe.files import locked
with locked(Path({str(tmp_path)!r})):
    print("locked", flush=True)
    time.sleep(3600)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    with pytest.raises(TimeoutError), locked(tmp_path, timeout=0.0):
        pass
    process.kill()
    process.communicate()
    with locked(tmp_path, timeout=10.0):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder in which somebody is")
def test_a_path_can_be_shown_though_the_working_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert shown_path("/srv/a.yaml") == "/srv/a.yaml"


def test_content_may_come_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, (part for part in (b"one ", b"two")))
    assert path.read_bytes() == b"one two"


def test_pieces_that_break_off_leave_the_old_content(tmp_path: Path) -> None:
    def breaking() -> Iterator[bytes]:
        yield b"new"
        raise ValueError("broken")

    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="broken"):
        write_atomically(path, breaking())
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.json"]


class TestLines:
    def test_a_line_is_on_the_disk_at_once_and_can_be_found(self, tmp_path: Path) -> None:
        lines = Lines(tmp_path / "a.jsonl")
        assert lines.append(b"one\n") == (0, 4)
        assert lines.append(b"three\n") == (4, 6)
        assert (tmp_path / "a.jsonl").read_bytes() == b"one\nthree\n"
        lines.close()

    @pytest.mark.parametrize(
        ("there", "left"),
        [
            (b"one\ntw", b"one\n"),
            (b"tw", b""),
            (b"one\n", b"one\n"),
            (b"one\n" + b"x" * 200_000, b"one\n"),
            (b"x" * 70_000 + b"\n" + b"y" * 70_000, b"x" * 70_000 + b"\n"),
        ],
        ids=["torn", "only torn", "whole", "torn and long", "both long"],
    )
    def test_what_a_killed_writer_left_goes_before_the_next_line(
        self, tmp_path: Path, there: bytes, left: bytes
    ) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(there)
        lines = Lines(path)
        assert lines.append(b"new\n") == (len(left), 4)
        lines.close()
        assert path.read_bytes() == left + b"new\n"

    def test_a_closed_one_goes_on_at_the_end(self, tmp_path: Path) -> None:
        lines = Lines(tmp_path / "a.jsonl")
        lines.append(b"one\n")
        lines.close()
        assert lines.append(b"two\n") == (4, 4)
        lines.close()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices are POSIX's")
class TestOddFiles:
    def test_a_pipe_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.yaml")
        with pytest.raises(OSError, match="it is a named pipe, not a file"):
            read_file(tmp_path / "a.yaml")

    def test_a_device_is_refused_and_not_read_without_end(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").symlink_to("/dev/zero")
        with pytest.raises(OSError, match="it is a device, not a file"):
            open_file(tmp_path / "a.yaml")
        assert oddity("/dev/null") == "it is a device, not a file"

    def test_nothing_is_written_in_the_place_of_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "report.html")
        with pytest.raises(OSError, match="it is a named pipe, not a file"):
            write_atomically(tmp_path / "report.html", b"page")
        assert names(tmp_path) == ["report.html"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert oddity(tmp_path) == ""
    with pytest.raises(OSError):  # noqa: PT011 - Windows has another error for it
        open_file(tmp_path)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"x" * 11)
    assert read_file(tmp_path / "a.json", 11) == b"x" * 11
    with pytest.raises(OSError, match="it is larger than 10 bytes"):
        read_file(tmp_path / "a.json", 10)


def test_line_breaks_are_plain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\rc\n")
    assert read_text(tmp_path / "a.txt") == "a\nb\nc\n"
