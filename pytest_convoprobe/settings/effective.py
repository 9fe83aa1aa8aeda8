"""What reading the settings gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .models import Settings


@dataclass(frozen=True)
class Layer:
    """The fields that one level sets, checked, with the words for where each comes from.

    `unresolved` are the fields that it would set if a variable weren't missing.
    """

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    origins: Mapping[str, str] = field(default_factory=dict)
    unresolved: Mapping[str, str] = field(default_factory=dict)

    def without(self, name: str) -> Layer:
        """The same level with one field left out."""
        values = {key: value for key, value in self.values.items() if key != name}
        return Layer(values, self.origins, self.unresolved)


@dataclass(frozen=True)
class LoadedSettings:
    """The settings and where they come from.

    `origins` says for each dotted path (`judge.model`) which source its value has; `secrets`
    are for the `Redactor`; `notices` are for the user, such as keys that were set aside. `layers` are the
    levels that scenarios' own settings are merged from; without them `settings` alone counts. `root` is the
    folder that relative files of the target start from; None leaves it to whoever runs something.
    """

    settings: Settings = field(default_factory=Settings)
    file: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    notices: tuple[str, ...] = ()
    layers: Mapping[str, tuple[Layer, ...]] = field(default_factory=dict, repr=False)
    root: Path | None = None
