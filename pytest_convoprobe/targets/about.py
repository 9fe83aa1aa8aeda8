"""A target's name and description. Both may be code of the project: then it runs in a thread with a limit."""

from __future__ import annotations

from ..errors import TimeLimitExceeded
from ..formatting import exact_seconds
from ..project_code.calls import Raised, in_own_thread
from ..project_code.deadline import Deadline
from .failures import start_failure
from .hosted import RunsElsewhere
from .port import Description, Target, description_of

_SECONDS = 3.0


class _DescribeTimeout(TimeLimitExceeded):
    def __init__(self) -> None:
        super().__init__(
            f"`describe` of the target took longer than {exact_seconds(_SECONDS)}; it must return at once"
        )


async def ask_name(target: Target) -> str:
    """The target's name. Raises `TargetStartError`; whoever asks sets the time limit."""
    if _describes_at_once(target):
        return target.name
    try:
        return await in_own_thread(lambda: str(target.name))
    except Raised as raised:
        raise start_failure("the target's name can't be read", raised.error) from None


async def ask_description(target: Target) -> Description:
    """The target's description of itself. Raises what it raises, and `TimeLimitExceeded`."""
    if _describes_at_once(target):
        return description_of(target)
    try:
        async with Deadline(_SECONDS, _DescribeTimeout()):
            return await in_own_thread(lambda: description_of(target))
    except Raised as raised:
        raise raised.error from None
    raise AssertionError("a deadline swallows nothing")


def _describes_at_once(target: Target) -> bool:
    """Whether no code of the project is asked, so that it takes no thread."""
    # By the type alone: `isinstance` would ask the object for its `__class__`, perhaps code of the project.
    kind = type(target)
    return issubclass(kind, RunsElsewhere) and kind.describes_at_once
