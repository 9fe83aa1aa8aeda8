"""The suites of other projects that are run with and without the plug-in, and what they need."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """The tests in the source archive of a project, which are run against the same version, installed.

    `needs` are the packages that the tests import. `arguments` are for pytest, with the paths of the tests
    last, relative to the archive's folder.
    """

    name: str
    paths: tuple[str, ...]
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


# Without xdist: two workers finish in another order each time, and the orders of two runs are to be the same.
SUITES = {
    suite.name: suite
    for suite in (
        Suite("pluggy", ("testing",)),
        Suite(
            "attrs",
            ("tests",),
            needs=("cloudpickle", "hypothesis", "pympler"),
            arguments=("--hypothesis-seed=0",),
        ),
        Suite("click", ("tests",)),
        Suite(
            "httpx",
            ("tests",),
            needs=(
                "brotli",
                "chardet",
                "h2",
                "rich",
                "socksio",
                "trio",
                "trustme",
                "uvicorn",
                "zstandard",
            ),
        ),
        Suite(
            "pytest",
            ("testing",),
            needs=("argcomplete", "hypothesis", "mock", "pexpect", "pygments", "requests", "xmlschema"),
        ),
    )
}
