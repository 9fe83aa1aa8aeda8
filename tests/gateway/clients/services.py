"""Services with an agent behind HTTP, as programs of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

READY = re.compile(r"^READY (\d+)$")


@contextmanager
def service(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A program that says `READY PORT`, while the block runs; its address."""
    with subprocess.Popen(
        [*command, "0"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{_port(process.stdout)}/chat"
        finally:
            process.terminate()


def _port(output: IO[str]) -> str:
    for line in output:
        if found := READY.match(line.strip()):
            # Whatever else it says must not fill the pipe.
            threading.Thread(target=output.read, daemon=True).start()
            return found[1]
    raise AssertionError("the service ended before it was ready")
