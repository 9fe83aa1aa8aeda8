"""An HTTP service that reports its version: what is stored is kept for as long as that is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.pipeline.pipeline import PipelineReport, run_bench, survey
from pytest_convoprobe.errors import TargetUnavailable
from tests.support.agent_server import AgentServer, Request

from .. import project


class Service:
    """Answers messages, and has a version at an address of its own."""

    version: Any = "1.2"

    def __call__(self, request: Request) -> Any:
        return {"v": self.version} if request.path == "/version" else {"text": project.PRAISE}


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def server(service: Service) -> Iterator[AgentServer]:
    with AgentServer(service) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, server: AgentServer) -> Path:
    where = f"version: {{url: '{server.url}/version', path: v}}"
    targets = f"targets: [{{id: shop, type: http, url: '{server.url}/chat', {where}}}]\n"
    head, _, tail = project.CONFIG.partition("targets:")
    return project.write(tmp_path, config=head + targets + tail[tail.index("generation:") :])


def run(folder: Path) -> PipelineReport:
    return asyncio.run(run_bench(project.load(folder), ["all"], llm=project.models()))


def missing(folder: Path) -> int:
    async def count() -> int:
        async with survey(project.load(folder)) as plans:
            return len(plans["simulate"]["shop"].missing)

    return asyncio.run(count())


def talks(server: AgentServer) -> int:
    return sum(request.path == "/chat" for request in server.requests)


def test_conversations_are_kept_for_as_long_as_the_version_is_the_same(
    folder: Path, service: Service, server: AgentServer
) -> None:
    run(folder)
    assert talks(server) == 8
    run(folder)
    assert talks(server) == 8
    service.version = "1.3"
    run(folder)
    assert talks(server) == 16
    service.version = "1.2"
    run(folder)
    assert talks(server) == 16


def test_what_only_looks_asks_nothing_and_knows_the_last_version(folder: Path, server: AgentServer) -> None:
    run(folder)
    asked = len(server.requests)
    assert missing(folder) == 0
    assert len(server.requests) == asked


def test_without_the_version_nothing_is_talked_about(
    folder: Path, service: Service, server: AgentServer
) -> None:
    service.version = None
    with pytest.raises(
        TargetUnavailable, match=r"the target shop doesn't report its version: .*finds nothing"
    ):
        run(folder)
    assert talks(server) == 0
