"""A run on a Ray of its own, as a process: `python -m tests.benchmark.ray_run FOLDER ITEMS SECONDS`.

Prints each item's number as it is done.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

from pytest_convoprobe.benchmark.engines.ray import RayEngine

from .cluster_doubles import Stand, items, task


async def main(folder: Path, count: int, seconds: float) -> None:
    engine = RayEngine(workers=2, make=Stand)
    try:
        async with aclosing(engine.run(task(folder), items(count, seconds=seconds))) as outcomes:
            async for outcome in outcomes:
                sys.stdout.write(f"{outcome.row['number'] if outcome.row else outcome.failure}\n")
                sys.stdout.flush()
    finally:
        await engine.aclose()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
