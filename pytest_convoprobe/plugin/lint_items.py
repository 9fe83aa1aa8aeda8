"""`--convoprobe-lint`: a test for each scenario file, which fails with what lint finds in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

NAME = "convoprobe-lint"


class LintedFile(pytest.File):
    """A scenario file once more, beside its scenarios: these may not even be readable."""

    def collect(self) -> Iterable[pytest.Item]:
        yield LintItem.from_parent(self, name=NAME)


class LintItem(pytest.Item):
    """The findings in one file. Nothing runs, and no model is called."""

    def runtest(self) -> None:
        from ..lint.linting import lint_file
        from ..text import harmless

        found = lint_file(self.path, file=self.nodeid.partition("::")[0])
        if found:
            # Without a traceback: it would show this module, and not the scenario's file.
            pytest.fail(harmless("\n".join(map(str, found))), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.nodeid.partition('::')[0]}: {NAME}"
