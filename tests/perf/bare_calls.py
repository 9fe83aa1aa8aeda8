"""LiteLLM alone: as many calls as told, some at once, so that our own share can be told from its share.

`python -m tests.perf.bare_calls URL CALLS CONCURRENCY [FILE]`: FILE holds, as JSON, the parameters of calls
that are made over and over; without it all are the same short one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from itertools import cycle, islice
from pathlib import Path
from typing import Any

MESSAGES = [
    {"role": "system", "content": "You are a friendly assistant. " * 20},
    {"role": "user", "content": "What is the weather like? " * 10},
]


async def main(url: str, calls: int, concurrency: int, given: list[dict[str, Any]]) -> None:
    """Make the calls; prints nothing."""
    os.environ.update(LITELLM_MODE="PRODUCTION", LITELLM_LOCAL_MODEL_COST_MAP="True")
    import litellm

    litellm.suppress_debug_info = True
    slots = asyncio.Semaphore(concurrency)

    async def call(parameters: dict[str, Any]) -> None:
        async with slots:
            await litellm.acompletion(
                "openai/gpt-4o-mini",
                **parameters,
                api_base=url,
                api_key="k",
                max_retries=0,
                num_retries=0,
                timeout=60,
            )

    await asyncio.gather(*(call(parameters) for parameters in islice(cycle(given), calls)))


if __name__ == "__main__":
    address, count, at_once, *file = sys.argv[1:]
    made: list[dict[str, Any]] = json.loads(Path(file[0]).read_text()) if file else [{"messages": MESSAGES}]
    asyncio.run(main(address, int(count), int(at_once), made))
