"""One line of `convoprobe doctor`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `works` is None where it wasn't tried; `advice` says what to do.

    `client` is what calls a model, `direct` or `litellm`; empty where no model is called.
    """

    what: str
    works: bool | None
    found: str
    advice: str = ""
    client: str = ""
