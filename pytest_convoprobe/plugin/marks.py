"""Tags of scenarios as pytest's markers.

`pytest.mark.<tag>` would ask whether the host's suite has registered the tag, and under
`--strict-markers` refuse it. So markers are made without asking, and the names that `-m` may use are
registered only while pytest picks the items: the host's modules are all imported before
that, so its own check of its own markers stays as strict as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from .keys import TAGS

#: Marks that pytest or a plug-in acts upon, without arguments too. As tags they are only words for `-k`.
ACTING = frozenset(
    "skip skipif xfail parametrize usefixtures filterwarnings tryfirst trylast asyncio anyio trio "
    "flaky timeout repeat xdist_group django_db order dependency".split()
)


def add_tags(item: pytest.Item, tags: Iterable[str]) -> None:
    """Give an item a marker for each tag; a tag with blanks also gets one that `-m` can spell."""
    known = item.config.stash.setdefault(TAGS, {})
    item.extra_keyword_matches.update(tags)
    for marker in tag_markers(item.config, tags):
        item.add_marker(marker)
        known[marker.name] = "a tag of a scenario"


def tag_markers(config: pytest.Config, tags: Iterable[str]) -> list[pytest.MarkDecorator]:
    """The markers of tags."""
    names = [name for tag in tags for name in dict.fromkeys((tag, spelling(tag)))]
    return [_marker(name) for name in names if not acts(config, name)]


def spelling(tag: str) -> str:
    """The tag with `_` for whatever `-m` cannot read."""
    return re.sub(r"[^\w.+-]+", "_", tag)


@contextmanager
def tags_registered(config: pytest.Config) -> Iterator[None]:
    """Let `-m` under `--strict-markers` know the tags, for the time of the selection only."""
    lines: list[str] = config.getini("markers")
    added = [f"{name}: {meaning}" for name, meaning in config.stash.get(TAGS, {}).items()]
    for line in added:
        config.addinivalue_line("markers", line)
    try:
        yield
    finally:
        for line in added:
            lines.remove(line)


def _marker(name: str, *args: object) -> pytest.MarkDecorator:
    # The public classes have no public constructor, and `pytest.mark` checks the name.
    return pytest.MarkDecorator(pytest.Mark(name, args, {}, _ispytest=True), _ispytest=True)


ONCE = _marker("repeat", 1)
"""Tells pytest-repeat to generate no repetitions."""


def acts(config: pytest.Config, name: str) -> bool:
    """Whether something would happen to an item of that mark: registered ones with arguments count."""
    registered: list[str] = config.getini("markers")
    return name in ACTING or any(line.startswith(f"{name}(") for line in registered)
