from __future__ import annotations

import io
import os
import pdb
import signal
import sys
from pathlib import Path

from .process_state import put_back


def test_nothing_is_left_of_a_debugger_that_went_on() -> None:
    """pdb's own handler would write to a terminal of the run that started it, when a later one is stopped."""
    before = signal.getsignal(signal.SIGINT)
    with put_back():
        sys.stdin = io.StringIO("c\n")
        pdb.Pdb(stdin=sys.stdin, stdout=io.StringIO(), readrc=False).set_trace()
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert not isinstance(sys.stdin, io.StringIO)


def test_environment_and_folder_are_as_before(tmp_path: Path) -> None:
    os.environ["A_NAME_BEFORE"] = "kept"
    before, folder = dict(os.environ), Path.cwd()
    with put_back():
        os.environ.update(A_NAME_BEFORE="another", A_NEW_NAME="1")
        os.environ.pop("PATH")
        os.chdir(tmp_path)
    assert (dict(os.environ), Path.cwd()) == (before, folder)
