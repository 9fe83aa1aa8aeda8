"""LiteLLM alone: as many calls as told, some at once, so that our own share can be told from its share.

`python -m tests.perf.bare_calls URL CALLS CONCURRENCY`
"""

from __future__ import annotations

import asyncio
import os
import sys

MESSAGES = [
    {"role": "system", "content": "You are a friendly assistant. " * 20},
    {"role": "user", "content": "What is the weather like? " * 10},
]


async def main(url: str, calls: int, concurrency: int) -> None:
    """Make the calls; prints nothing."""
    os.environ.update(LITELLM_MODE="PRODUCTION", LITELLM_LOCAL_MODEL_COST_MAP="True")
    import litellm

    litellm.suppress_debug_info = True
    slots = asyncio.Semaphore(concurrency)

    async def call() -> None:
        async with slots:
            await litellm.acompletion(
                "openai/gpt-4o-mini",
                MESSAGES,
                api_base=url,
                api_key="k",
                max_retries=0,
                num_retries=0,
                timeout=60,
            )

    await asyncio.gather(*(call() for _ in range(calls)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
