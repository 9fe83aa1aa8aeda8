"""What every formula asks of its numbers: a count, a share or a level that cannot be is an error with words.

NaN above all: it compares as false with everything, so a sum, a sort or a limit would silently go on with it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable


def require_finite(values: Iterable[float], what: str) -> None:
    """Raises ValueError for a value that is NaN or infinite."""
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"{what} has to be a finite number, not {value}")


def require_shares(values: Iterable[float], what: str) -> None:
    """Raises ValueError for a value that isn't between 0 and 1."""
    for value in values:
        if not 0 <= value <= 1:
            raise ValueError(f"{what} has to be between 0 and 1, not {value}")


def require_level(level: float, what: str = "a confidence") -> None:
    """Raises ValueError for a level that isn't above 0 and below 1."""
    if not 0 < level < 1:
        raise ValueError(f"{what} has to be above 0 and below 1, not {level}")


def require_part(part: float, whole: float, what: str = "trials") -> None:
    """Raises ValueError for a part that cannot be one of the whole: 5 passed of 3."""
    if not (math.isfinite(part) and math.isfinite(whole) and whole >= 0):
        raise ValueError(f"the number of {what} has to be finite and not negative: {part} of {whole}")
    if not 0 <= part <= whole:
        raise ValueError(f"{part} of {whole} {what} cannot be: the part has to be between 0 and the whole")


def require_counts(counts: Iterable[int], what: str) -> None:
    """Raises ValueError for a count that isn't a whole number, or is negative."""
    for count in counts:
        if not math.isfinite(count) or count != int(count):
            raise ValueError(f"{what} has to be a whole number, not {count}")
        if count < 0:
            raise ValueError(f"{what} cannot be negative: {count}")


def require_ratings(ratings: Iterable[Hashable], what: str = "a rating") -> None:
    """Raises ValueError for NaN, which is unequal to itself; a missing rating is None."""
    if any(rating != rating for rating in ratings):
        raise ValueError(f"{what} is NaN, which agrees with nothing; leave a missing one out, as None")


def require_order(values: Iterable[float], what: str) -> None:
    """Raises ValueError for NaN, which is neither larger nor smaller than anything."""
    if any(math.isnan(value) for value in values):
        raise ValueError(f"{what} is NaN, which has no place in an order")
