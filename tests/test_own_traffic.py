from __future__ import annotations

import logging

import pytest

from pytest_convoprobe.own_traffic import unlogged

CLIENTS = (
    "httpx",
    "httpx2",
    "mcp.client.streamable_http",
    "httpcore.http11",
    "openai._base_client",
    "LiteLLM Router",
)


def test_clients_log_the_calls_of_the_project_and_not_ours(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    # LiteLLM sets levels of its own when it is imported, which another test may have done.
    for name in CLIENTS:
        caplog.set_level(logging.DEBUG, logger=name)
    for name in (*CLIENTS, "project"):
        with unlogged():
            logging.getLogger(name).debug("ours by %s", name)
        logging.getLogger(name).debug("theirs by %s", name)
    ours = [record.name for record in caplog.records if record.getMessage().startswith("ours")]
    assert ours == ["project"]
    assert (
        len([record for record in caplog.records if record.getMessage().startswith("theirs")])
        == len(CLIENTS) + 1
    )
