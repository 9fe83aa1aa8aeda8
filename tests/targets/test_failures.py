from __future__ import annotations

import asyncio
import errno
import socket
import urllib.error
from email.message import Message

import aiohttp
import httpx
import openai
import pytest

from pytest_convoprobe.errors import TargetCrashed, TargetUnavailable
from pytest_convoprobe.targets.failures import failure, is_unavailable

REQUEST = httpx.Request("POST", "http://localhost/chat")


class WithStatus(Exception):
    def __init__(self, status: object) -> None:
        self.status_code = status


class WithResponse(Exception):
    def __init__(self, status: int) -> None:
        self.response = httpx.Response(status, request=REQUEST)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001
        return caught


def raised_while_handling(error: BaseException, handled: BaseException) -> BaseException:
    try:
        try:
            raise handled
        except Exception:  # noqa: BLE001
            raise error  # noqa: B904
    except Exception as caught:  # noqa: BLE001
        return caught


def raised_from(error: BaseException, cause: BaseException | None) -> BaseException:
    try:
        raise error from cause
    except Exception as caught:  # noqa: BLE001
        return caught


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("refused"),
        BrokenPipeError(),
        TimeoutError(),
        asyncio.TimeoutError(),
        socket.gaierror(8, "no such host"),
        OSError(errno.EHOSTUNREACH, "no route"),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        aiohttp.ServerDisconnectedError(),
        aiohttp.ServerTimeoutError(),
        openai.APIConnectionError(request=REQUEST),
        openai.APITimeoutError(request=REQUEST),
        openai.RateLimitError("slow down", response=httpx.Response(429, request=REQUEST), body=None),
        urllib.error.URLError("no"),
        urllib.error.HTTPError("http://x", 503, "busy", Message(), None),
        WithStatus(408),
        WithStatus(429),
        WithStatus(500),
        WithStatus(529),
        WithResponse(502),
        TargetUnavailable("down"),
    ],
    ids=lambda error: f"{type(error).__name__}",
)
def test_what_the_agent_stands_on(error: Exception) -> None:
    assert is_unavailable(raised(error))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong"),
        FileNotFoundError("orders.db"),
        PermissionError(),
        WithStatus(400),
        WithStatus(404),
        WithStatus("500"),
        WithResponse(401),
        urllib.error.HTTPError("http://x", 404, "no", Message(), None),
        openai.AuthenticationError("no", response=httpx.Response(401, request=REQUEST), body=None),
    ],
    ids=lambda error: f"{type(error).__name__}",
)
def test_what_is_the_agents_own(error: Exception) -> None:
    assert not is_unavailable(raised(error))


def test_an_error_raised_from_a_lost_connection_counts_as_one() -> None:
    assert is_unavailable(raised_from(RuntimeError("no answer"), ConnectionResetError()))


def test_an_error_raised_while_a_lost_connection_was_handled_counts_as_one() -> None:
    assert is_unavailable(raised_while_handling(RuntimeError("no answer"), ConnectionResetError()))


def test_a_bug_in_the_handling_of_a_lost_connection_is_a_bug() -> None:
    assert not is_unavailable(raised_while_handling(NameError("lgo"), ConnectionResetError()))


def test_a_hidden_context_does_not_count() -> None:
    try:
        raise ConnectionResetError
    except ConnectionResetError:
        error = raised_from(RuntimeError("wrong"), None)
    assert not is_unavailable(error)


def test_a_circle_of_causes_comes_to_an_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert not is_unavailable(one)


def test_a_crash_names_the_error() -> None:
    error = failure(raised(ValueError("no stock")))
    assert isinstance(error, TargetCrashed)
    assert str(error) == "the target raised ValueError: no stock"


def test_unavailable_names_the_error() -> None:
    error = failure(raised(ConnectionResetError("gone")))
    assert isinstance(error, TargetUnavailable)
    assert str(error) == "a service that the target needs did not answer: ConnectionResetError: gone"
