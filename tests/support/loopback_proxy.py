"""A proxy on loopback, for plain HTTP and for tunnels; it notes what it was asked for."""

from __future__ import annotations

import asyncio
import threading
from urllib.parse import urlsplit


class LoopbackProxy:
    """Use it as a context manager. `asked` has the first line of each request, `headers` the rest of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.headers: list[str] = []
        self._port = 0
        self._ready = threading.Event()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> LoopbackProxy:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="proxy", daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0.01)  # connections are closed in callbacks

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            line, _, rest = head.decode("latin-1").partition("\r\n")
            self.asked.append(line)
            self.headers.append(rest)
            await self._passed_on(line, rest, reader, writer)
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass  # somebody went away, or the proxy stops
        finally:
            writer.transport.abort()

    async def _passed_on(
        self, line: str, rest: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        method, target, version = line.split(" ")
        tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        there, to = await asyncio.open_connection(parts.hostname, parts.port)
        if tunnel:
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            to.write(f"{method} {parts.path} {version}\r\n{rest}".encode("latin-1"))
        try:
            await asyncio.gather(_piped(reader, to), _piped(there, writer))
        finally:
            to.transport.abort()


async def _piped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    writer.close()
