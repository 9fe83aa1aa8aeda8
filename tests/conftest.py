"""Fixtures for all parts' tests."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from .support.fixtures import chat_server
from .support.process_state import put_back

__all__ = ["chat_server"]

# How long an example takes says more about the machine than about the code. Each run tries other examples, so
# a few a run are enough; `--hypothesis-profile thorough` is for whoever has changed what they are about.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("quick")

# Whoever starts the tests in the background makes them, and all that they start, deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _not_on_github() -> Iterator[None]:
    """The runs that tests start must not write into the summary of the job that runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def _process_as_found() -> Iterator[None]:
    """A test may leave nothing of the process's own changed: in some order another one would notice."""
    with put_back():
        yield
