from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer

from .project import ROOT, Project


@pytest.fixture
def project(tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose scenarios begin in another way than with the user's first message."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Project(tmp_path / "project", chat_server)
