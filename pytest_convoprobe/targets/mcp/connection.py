"""One connection with one server: opened and closed in a task of its own, which notices when it is lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from ...errors import TargetStartError, TargetUnavailable
from ...excerpts import cut_middle
from ...formatting import exact_seconds
from ...own_traffic import begun_unlogged
from ...project_code.tracebacks import describe
from ...settings.mcp_settings import McpServer
from ...text import harmless, is_blank, one_line
from .errors import Closed, NoResult, NotStarted
from .process import Program, ServerProcess
from .requests import RequestLog, ServerRequests
from .sdk import Answers, Client, ListedTool, Sdk

T = TypeVar("T")

_LOOKING = 5.0
_CLOSING = 10.0
_DYING = 1.0
_ARRIVING = 0.1
_LINES = 20
_SHORT = 200


class Connection:
    """A server that is running, or has been. All of it happens on the loop that opened it."""

    def __init__(self, name: str, settings: McpServer, root: Path, sdk: Sdk) -> None:
        self.name = name
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.tools: tuple[ListedTool, ...] = ()
        self._sdk = sdk
        self._requests = ServerRequests(name, settings)
        self._process = ServerProcess(_program(settings, root)) if settings.command else None
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._leave = asyncio.Event()
        self._over = asyncio.Event()
        self._error: BaseException | None = None
        self._hung_up = False
        self._spoilt: list[str] = []
        self._refused: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether no call can be made any more."""
        return self._over.is_set() or bool(self._refused)

    async def open(self) -> None:
        """Raises `TargetStartError` if the tools are not listed within the time limit."""
        seconds = self.settings.start_timeout
        # The package enters and leaves its cancel scopes in one task, so this one does nothing else.
        # It logs nothing: addresses and the ids of sessions may be secret.
        self._task = begun_unlogged(self._live())
        try:
            await _first_of(self._ready, self._over, seconds=seconds)
            if not self._ready.is_set():
                await self._complain(seconds)
        except BaseException:
            await self.close()
            raise

    async def call(self, tool: str, arguments: Mapping[str, Any], asked: RequestLog) -> dict[str, Any]:
        """The result as JSON. Raises `NoResult` for an error of the tool, and `Closed`."""
        if self._client is None or self.is_over:
            raise Closed
        seconds = self.settings.timeout
        with self._requests.during(asked, tool, arguments):
            try:
                return await self._before_the_end(self._client.call(tool, dict(arguments)), seconds)
            except TimeoutError:
                await self._look()
                raise NoResult(f"no answer within {exact_seconds(seconds)}") from None

    async def close(self) -> None:
        """End the connection, and the process; may be called again."""
        self._leave.set()
        task, self._task = self._task, None
        if task is None:
            return
        if not self._ready.is_set() and self._error is None:
            task.cancel()  # it waits for the server, and not for us
        done, _ = await asyncio.wait((task,), timeout=_CLOSING)
        if not done:
            task.cancel()

    async def lost(self) -> TargetUnavailable:
        """What it means for a conversation that the connection is over, with the server's last words."""
        words = f"the MCP server `{self.name}` {await self._how_it_ended('')}"
        return TargetUnavailable(words, trace=self._last_words())

    async def _live(self) -> None:
        try:
            await self._served()
        except BaseException as error:
            self._error = error
            if isinstance(error, asyncio.CancelledError) and not self._leave.is_set():
                raise
        finally:
            self._over.set()
            if self._process is not None:
                await self._process.stop()

    async def _served(self) -> None:
        answers = Answers(self._requests.elicitation, self._requests.sampling)
        async with AsyncExitStack() as stack:
            if self._process is not None:
                await self._process.start()
                transport = self._sdk.over_process(self._process, self._spoilt, self._lose)
            else:
                headers = {name: one.get_secret_value() for name, one in self.settings.headers.items()}
                transport = self._sdk.over_http(self.settings.url or "", headers, self._refuse)
            client = await self._sdk.connect(stack, transport, answers)
            self.tools = await client.tools()
            self._client = client
            # A server of an older protocol refuses the first question of a newer client.
            self._refused.clear()
            self._ready.set()
            await self._leave.wait()

    def _refuse(self, why: str) -> None:
        self._refused.append(why)
        if self._ready.is_set():
            # Not all versions of the package end the call then: it would wait for its time limit.
            self._over.set()

    def _lose(self) -> None:
        self._hung_up = True
        self._over.set()

    async def _before_the_end(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """What the work returns. Raises `TimeoutError`, and `Closed` once the connection is over."""
        task = begun_unlogged(work)  # the package sends it in the context of whoever asks
        try:
            await _first_of(task, self._over, seconds=seconds)
            if self._over.is_set():
                # A result that came just before the end is one.
                await asyncio.wait((task,), timeout=_ARRIVING)
        finally:
            if not task.done():
                task.cancel()
        if task.done() and not task.cancelled():
            return await self._outcome(task)
        if self._over.is_set():
            raise Closed
        raise TimeoutError

    async def _outcome(self, task: asyncio.Future[T]) -> T:
        """The task's result, or its error as that of the tool or of the connection."""
        error = task.exception()
        if error is None:
            return task.result()
        # The package may report a closed connection before we see it closed.
        await _first_of(self._over, seconds=_ARRIVING)
        if isinstance(error, Closed) or self.is_over:
            self._over.set()
            raise Closed from None
        raise NoResult(one_line(str(error)) or describe(error)) from None

    async def _look(self) -> None:
        """See whether a service that didn't answer is still there: a refused connection ends ours."""
        if self._client is None or self._process is not None:
            return
        with contextlib.suppress(TimeoutError, NoResult):
            await self._before_the_end(self._client.look(), min(_LOOKING, self.settings.timeout))

    async def _complain(self, seconds: float) -> None:
        if isinstance(self._error, NotStarted):
            how = f"can't be started: {self._error}"
        elif self._process is not None and not self._hung_up and (why := _root_of(self._error)):
            # The process was well until we ended it: only its answers are of no use.
            how = f"gives an answer that can't be used: {why}"
        elif self._over.is_set():
            how = await self._how_it_ended(" before it had listed its tools")
        else:
            how = (
                f"didn't list its tools within {exact_seconds(seconds)} "
                f"(target.mcp_servers.{self.name}.start_timeout)"
                + (f"; {self._refused[0]}" if self._refused else "")
            )
        said = f"the MCP server `{self.name}` {how}"
        if self._spoilt:
            line = cut_middle(one_line(harmless(self._spoilt[0])), _SHORT)
            said += f"; its standard output has a line that is not a message: {line}"
        raise TargetStartError(said, trace=self._last_words())

    async def _how_it_ended(self, when: str) -> str:
        """`ended with status 3: out of memory`: the status of a process and its last line, or the error."""
        if self._process is None:
            why = self._refused[0] if self._refused else _root_of(self._error)
            return f"closed its connection{when}" + (f": {why}" if why else "")
        status = await self._process.status(_DYING)
        how = "closed its standard input or output" if status is None else _ended_with(status)
        lines = [line for line in harmless(self._process.last_words).splitlines() if not is_blank(line)]
        return f"{how}{when}" + (f": {cut_middle(one_line(lines[-1]), _SHORT)}" if lines else "")

    def _last_words(self) -> str:
        """The end of the process's standard error, harmless to print."""
        if self._process is None:
            return ""
        lines = harmless(self._process.last_words).strip().splitlines()[-_LINES:]
        said = "\n".join(f"    {line}" for line in lines)
        return f"the end of the standard error of the MCP server `{self.name}`:\n{said}" if lines else ""


async def _first_of(*awaited: asyncio.Event | asyncio.Future[Any], seconds: float) -> None:
    """Wait until one of them is set or done, for so many seconds at most."""
    waits = [asyncio.ensure_future(one.wait()) if isinstance(one, asyncio.Event) else one for one in awaited]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait, one in zip(waits, awaited, strict=True):
            if isinstance(one, asyncio.Event):
                wait.cancel()


def _program(settings: McpServer, root: Path) -> Program:
    env = {name: one.get_secret_value() for name, one in settings.env.items()}
    return Program(settings.command or "", settings.args, env, root / (settings.cwd or "."))


def _ended_with(status: int) -> str:
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def _root_of(error: BaseException | None) -> str:
    """The first error in a group of errors, which is how tasks report theirs."""
    while error is not None and getattr(error, "exceptions", None):
        error = error.exceptions[0]  # type: ignore[attr-defined]
    if error is None or isinstance(error, asyncio.CancelledError):
        return ""
    return describe(error)
