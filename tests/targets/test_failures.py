from __future__ import annotations

import asyncio
import errno
import socket
import sqlite3
import urllib.error
from email.message import Message

import aiohttp
import httpx
import openai
import pytest

from pytest_convoprobe.errors import Blame, TargetCrashed, TargetUnavailable
from pytest_convoprobe.targets.failures import failure, is_unavailable, start_failure

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


def of_class(path: str, *bases: type[BaseException], **fields: object) -> BaseException:
    """An exception whose class has this module and name: the packages need not be installed."""
    module, _, name = path.rpartition(".")
    kind = type(name, bases or (Exception,), {"__module__": module, **fields})
    return raised(kind("failed"))


HttpxNetworkError = type("NetworkError", (Exception,), {"__module__": "httpx2._exceptions"})


class Data:
    def __init__(self, code: int) -> None:
        self.code = code


@pytest.mark.parametrize(
    "error",
    [
        of_class(
            "httpx2._exceptions.ConnectError", type("NetworkError", (Exception,), {"__module__": "httpx2"})
        ),
        of_class("groq.APIConnectionError"),
        of_class("mcp.shared.exceptions.MCPError", error=Data(-32000)),
        of_class("google.genai.errors.ClientError", code=429),
        of_class("botocore.exceptions.ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 503}}),
        of_class("botocore.exceptions.EventStreamError", response={"Error": {"Code": "ThrottlingException"}}),
        of_class("anyio.BrokenResourceError"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_packages_of_frameworks_raise(error: BaseException) -> None:
    assert is_unavailable(error)


@pytest.mark.parametrize(
    "error",
    [
        of_class("mcp.shared.exceptions.MCPError", error=Data(-32602)),
        of_class("google.genai.errors.ClientError", code=400),
        of_class("shop.Closed", code=503),
        of_class("botocore.exceptions.ClientError", response={"Error": {"Code": "ValidationException"}}),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_they_raise_for_a_mistake_of_the_agents(error: BaseException) -> None:
    assert not is_unavailable(error)


class BaseExceptionGroup(Exception):
    def __init__(self, *parts: BaseException) -> None:
        self.exceptions = parts
        super().__init__(f"{len(parts)} errors")


def test_a_group_counts_by_the_errors_in_it() -> None:
    lost, wrong = httpx.ConnectError("refused"), ValueError("wrong")
    assert is_unavailable(BaseExceptionGroup(BaseExceptionGroup(lost), wrong))
    assert not is_unavailable(BaseExceptionGroup(lost, KeyError("a bug")))
    assert is_unavailable(raised_from(RuntimeError("no tools"), BaseExceptionGroup(wrong, lost)))
    assert str(failure(BaseExceptionGroup(TargetUnavailable("the stock is down")))) == "the stock is down"
    assert "ValueError: wrong" in str(failure(BaseExceptionGroup(wrong)))


def test_a_crash_names_the_error() -> None:
    error = failure(raised(ValueError("no stock")))
    assert isinstance(error, TargetCrashed)
    assert str(error) == "the target raised ValueError: no stock"


def test_unavailable_names_the_error() -> None:
    error = failure(raised(ConnectionResetError("gone")))
    assert isinstance(error, TargetUnavailable)
    assert str(error) == "a service that the target needs did not answer: ConnectionResetError: gone"


class SynchronousOnlyOperation(Exception):
    """Has the name and the words of Django's."""


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            sqlite3.ProgrammingError(
                "SQLite objects created in a thread can only be used in that same thread. The object was "
                "created in thread id 1 and this is thread id 2."
            ),
            "belongs to another thread",
        ),
        (
            RuntimeError(
                "DatabaseWrapper objects created in a thread can only be used in that same thread. "
                "The object with alias 'default' was created in thread id 1 and this is thread id 2."
            ),
            "belongs to another thread",
        ),
        (RuntimeError("There is no current event loop in thread 'x'."), "belongs to another thread"),
        (RuntimeError("Working outside of application context."), "belongs to another thread"),
        (sqlite3.OperationalError("database is locked"), "another connection holds the database"),
        (
            sqlite3.OperationalError("database table is locked: orders"),
            "another connection holds the database",
        ),
        (
            SynchronousOnlyOperation("You cannot call this from an async context - use a thread."),
            "was used on an event loop",
        ),
        (
            RuntimeError('Database access not allowed, use the "django_db" mark, or the "db" fixtures'),
            "the test has no access to Django's database",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_belongs_to_a_thread_or_a_transaction_is_the_wirings(error: Exception, cause: str) -> None:
    for found in (failure(raised(error)), failure(raised_from(KeyError("x"), error))):
        assert isinstance(found, TargetUnavailable)
        assert found.blame is Blame.INFRASTRUCTURE
        assert cause in str(found)
        assert "`target.thread: same`" in str(found)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            SystemError("AST constructor recursion depth mismatch (before=6, after=9)"),
            "two threads parsed source code at the same time",
        ),
        (RuntimeError("A test tried to use socket.socket."), "pytest-socket's `--allow-hosts`"),
        (UserWarning("A test tried to use socket.getaddrinfo."), "`--allow-unix-socket`"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_suite_forbids_or_the_interpreter_spoils_is_not_the_agents(
    error: Exception, cause: str
) -> None:
    for found in (failure(raised(error)), failure(raised_from(KeyError("x"), error))):
        assert isinstance(found, TargetUnavailable)
        assert cause in str(found)


@pytest.mark.parametrize(
    "words",
    [
        "Task got Future <Future pending> attached to a different loop",
        "<asyncio.locks.Event object> is bound to a different event loop",
    ],
)
async def test_an_object_of_a_fixtures_loop_is_the_wirings(words: str) -> None:
    found = failure(raised(RuntimeError(words)))
    assert found.blame is Blame.INFRASTRUCTURE
    assert "an object of another event loop" in str(found)


def test_it_is_at_the_start_too() -> None:
    error = start_failure("`x` could not be started", raised(sqlite3.OperationalError("database is locked")))
    assert "another connection holds the database" in str(error)


def test_other_errors_of_a_database_are_the_agents() -> None:
    assert isinstance(failure(raised(sqlite3.OperationalError("no such table: orders"))), TargetCrashed)
