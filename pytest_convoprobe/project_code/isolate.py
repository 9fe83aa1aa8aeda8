"""Awaiting somebody else's code without being ended by what it raises."""

from __future__ import annotations

import types
from collections.abc import Coroutine, Generator
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


@types.coroutine
def contained(steps: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Await the coroutine; a `GeneratorExit` that it raises by itself becomes a `RuntimeError`.

    Python raises the same exception in a coroutine that is closed. Unwrapped, it would end the caller, and
    pytest's fixtures with it. A real one goes through.
    """
    resume = partial(steps.send, None)
    while True:
        try:
            awaited = resume()
        except StopIteration as end:
            result: T = end.value
            return result
        except GeneratorExit as error:
            wrapped = RuntimeError("the function raised GeneratorExit")
            raise wrapped.with_traceback(error.__traceback__) from error
        try:
            resume = partial(steps.send, (yield awaited))
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as error:  # noqa: BLE001 - a cancellation, say: it is for the coroutine
            resume = partial(steps.throw, error)
