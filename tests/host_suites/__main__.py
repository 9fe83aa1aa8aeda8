"""Runs the test suites of other projects with and without the plug-in, and compares how each test ended.

`python -m tests.host_suites [NAME[:PATH,…] …]` runs all suites, or those that are named: `pluggy`, or
`pytest:testing/test_config.py` for some of its files. It makes an environment, gets the source archives from
the package index, and prints each test that ended in another way, also when it was run a second time. It
exits with 1 if there is one. Some tests need a network, or fail with newer packages: they fail both ways.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .recorder import COLLECTION, EXIT
from .suites import SUITES, Suite

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGIN = "pytest-convoprobe"
_SHOWN = 50

Outcomes = Mapping[str, str]
"""How each test ended, by its id: `setup passed, call failed, teardown passed`."""

Pair = tuple[Outcomes, Outcomes]
"""The outcomes without and with the plug-in."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with what the suites and the plug-in need; the plug-in comes and goes."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")

    def make(self, suites: Sequence[Suite], constraints: Path | None) -> None:
        """Install everything but the plug-in, which is built as a wheel."""
        _run([sys.executable, "-m", "venv", str(self.folder / "venv")])
        self.pip("wheel", "--no-deps", "--wheel-dir", str(self.folder / "dist"), str(REPOSITORY))
        needs = [need for suite in suites for need in (suite.name, *suite.needs)]
        pinned = ["--constraint", str(constraints)] if constraints else []
        self.pip("install", *pinned, str(self._wheel()), *needs)

    def with_plugin(self, wanted: bool) -> None:
        if wanted:
            self.pip("install", "--no-deps", "--force-reinstall", str(self._wheel()))
        else:
            self.pip("uninstall", "--yes", PLUGIN)

    def source(self, suite: Suite) -> Path:
        """The folder of the source archive of the version that is installed."""
        code = f"import importlib.metadata as m; print(m.version({suite.name!r}))"
        version = subprocess.run(
            [self.python, "-c", code], check=True, capture_output=True, text=True
        ).stdout.strip()
        sources = self.folder / "sources"
        exact = f"{suite.name}=={version}"
        self.pip("download", "--no-deps", "--no-binary", suite.name, "--dest", str(sources), exact)
        (archive,) = sources.glob(f"{suite.name}-*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(sources, filter="data")
        return sources / archive.name.removesuffix(".tar.gz")

    def pip(self, *arguments: str) -> None:
        _run([self.python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments])

    def _wheel(self) -> Path:
        (wheel,) = (self.folder / "dist").glob("*.whl")
        return wheel


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.host_suites", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="NAME[:PATH,…]", default=list(SUITES))
    parser.add_argument("--folder", type=Path, help="Keep the environment and the outcomes in this folder.")
    parser.add_argument("--constraints", type=Path, help="Versions for pip, such as .ci/constraints.txt.")
    asked = parser.parse_args(arguments)
    suites = [_suite(name) for name in asked.suites]
    if asked.folder:
        asked.folder.mkdir(parents=True, exist_ok=True)
        return _compare_all(Environment(asked.folder.resolve()), suites, asked.constraints)
    with tempfile.TemporaryDirectory(prefix="host-suites-") as folder:
        return _compare_all(Environment(Path(folder)), suites, asked.constraints)


def _suite(name: str) -> Suite:
    name, _, paths = name.partition(":")
    if name not in SUITES:
        raise SystemExit(f"no suite is called {name}; there are {', '.join(SUITES)}")
    return replace(SUITES[name], paths=tuple(paths.split(","))) if paths else SUITES[name]


def _compare_all(environment: Environment, suites: Sequence[Suite], constraints: Path | None) -> int:
    environment.make(suites, constraints)
    found = _both_ways(environment, suites)
    unlike = [replace(one, paths=_paths(one, ids)) for one in suites if (ids := _differing(one, found))]
    if unlike:
        # Tests of others depend on time, too. What ends differently only once is not the plug-in's doing.
        _say(f"again: {', '.join(f'{len(one.paths)} of {one.name}' for one in unlike)}")
        found |= _both_ways(environment, unlike)
    return 1 if sum([_report(suite, found) for suite in suites]) else 0


def _both_ways(environment: Environment, suites: Sequence[Suite]) -> dict[str, Pair]:
    """By suite, the outcomes without and with the plug-in."""
    sources = {suite.name: environment.source(suite) for suite in suites}
    halves: list[dict[str, Outcomes]] = []
    for plugin in (False, True):
        environment.with_plugin(plugin)
        halves.append(
            {suite.name: _outcomes(environment, suite, sources[suite.name], plugin) for suite in suites}
        )
    without, with_plugin = halves
    return {suite.name: (without[suite.name], with_plugin[suite.name]) for suite in suites}


def _differing(suite: Suite, found: Mapping[str, Pair]) -> list[str]:
    """The ids of the tests that ended in another way; those that one run doesn't have, too."""
    without, with_plugin = found[suite.name]
    names = without.keys() | with_plugin.keys()
    differ = {name for name in names if without.get(name) != with_plugin.get(name)}
    # The exit status follows from the tests, unless it differs alone.
    return sorted(differ - {EXIT} or differ)


def _paths(suite: Suite, differ: Sequence[str]) -> tuple[str, ...]:
    """What to run again, as arguments of pytest."""
    if differ == [EXIT]:
        return suite.paths
    return tuple(name.removesuffix(COLLECTION) for name in differ)


def _outcomes(environment: Environment, suite: Suite, source: Path, plugin: bool) -> Outcomes:
    began = time.monotonic()
    words = "with" if plugin else "without"
    file = environment.folder / f"{suite.name}-{words}.json"
    file.unlink(missing_ok=True)
    command = [environment.python, "-m", "pytest", "-q", "-p", "recorder", *suite.arguments, *suite.paths]
    # The same hashes and the same order; nothing of the caller's.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    more = {
        "PYTHONPATH": str(Path(__file__).parent),
        "PYTHONHASHSEED": "0",
        "HOST_OUTCOMES": str(file),
        "COLUMNS": "80",
    }
    with (environment.folder / f"{suite.name}-{words}.log").open("wb") as log:
        subprocess.run(command, cwd=source, env={**kept, **more}, stdout=log, stderr=subprocess.STDOUT)
    if not file.exists():
        raise SystemExit(f"{suite.name} {words} the plug-in did not come to an end: see {log.name}")
    outcomes: Outcomes = json.loads(file.read_text("utf-8"))
    _say(f"{suite.name} {words}: {_summary(outcomes)} in {time.monotonic() - began:.0f} s")
    return outcomes


def _summary(outcomes: Outcomes) -> str:
    words = Counter(map(_word, (outcome for test, outcome in outcomes.items() if not test.startswith("("))))
    return ", ".join(f"{count} {word}" for word, count in sorted(words.items()))


def _word(outcome: str) -> str:
    for word in ("failed", "xfail", "skipped"):
        if word in outcome:
            return word
    return "passed"


def _report(suite: Suite, found: Mapping[str, Pair]) -> int:
    """How many tests of a suite end in another way; prints them."""
    without, with_plugin = found[suite.name]
    differ = _differing(suite, found)
    _say(f"{suite.name}: {len(differ)} tests end in another way")
    for name in differ[:_SHOWN]:
        _say(f"  {name}\n    without: {without.get(name, '-')}\n    with:    {with_plugin.get(name, '-')}")
    return len(differ)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
