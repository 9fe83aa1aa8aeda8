"""Whole runs through either lane to the models: directly, and through LiteLLM."""

from __future__ import annotations

import statistics
from pathlib import Path

from .figure import Figure
from .loopback import HERE, LATENCY, WholeRun, bare_calls, chat_server, whole_run
from .measure import run

_PAIRS = 3
_SCENARIOS = 100
_SIZES = (50, 350)


def direct(folder: Path) -> list[Figure]:
    """100 scenarios of 3 turns at 200 ms a call, 50 at once; each lane in turn, so that both see the same."""
    with chat_server(LATENCY) as url:
        pairs = [
            [_measured(url, folder / f"{lane}{n}", lane) for lane in ("direct", "litellm")]
            for n in range(_PAIRS)
        ]
    ours, theirs = map(list, zip(*pairs, strict=True))
    wall, bar = _wall(ours), 1.5 * ours[0].ideal + 1.5
    return [
        Figure(f"100 scenarios, direct, {ours[0].calls} calls: wall time", wall, bar, "s"),
        Figure(f"the same, as a share of LiteLLM's {_wall(theirs):.1f} s", wall / _wall(theirs), 0.4, "x"),
        Figure("100 scenarios, direct: peak memory", max(one.took.peak_mb for one in ours), 100, "MB"),
        Figure("100 scenarios, direct: modules of LiteLLM", max(one.litellm_modules for one in ours), 0, ""),
        Figure("CPU a call, direct", _cpu_of_a_call(folder, "direct"), 1.5, "ms"),
    ]


def workers(folder: Path) -> list[Figure]:
    """The same scenarios with two workers of xdist, each run after one without."""
    arguments = (), ("-p", "xdist", "-n", "2")
    with chat_server(LATENCY) as url:
        pairs = [
            [_measured(url, folder / f"{len(words)}-{n}", "direct", *words) for words in arguments]
            for n in range(_PAIRS)
        ]
    alone, two = map(_wall, map(list, zip(*pairs, strict=True)))
    return [Figure(f"100 scenarios, direct, -n 2: share of the {alone:.1f} s without", two / alone, 1.2, "x")]


def throughput(folder: Path) -> list[Figure]:
    """100 scenarios of 3 turns at 200 ms a call, 50 at once, through LiteLLM: the whole command."""
    with chat_server(LATENCY) as url:
        runs = [_measured(url, folder / f"throughput{n}", "litellm") for n in range(_PAIRS)]
        alone = run(bare_calls(url, 600), cwd=folder, env=HERE)
    bar = 2.2 * runs[0].ideal + 5
    return [
        Figure(f"100 scenarios, LiteLLM's lane, {runs[0].calls} calls: wall time", _wall(runs), bar, "s"),
        Figure("LiteLLM alone, its import and 600 such calls: wall time", alone.wall, float("inf"), "s"),
        Figure("100 scenarios, LiteLLM's lane: peak memory", max(r.took.peak_mb for r in runs), 400, "MB"),
    ]


def cpu(folder: Path) -> list[Figure]:
    """What a call costs beside LiteLLM's own CPU: the slope between two sizes, ours less LiteLLM's."""
    ours = _cpu_of_a_call(folder, "litellm")
    with chat_server(0.0) as url:
        bare = [run(bare_calls(url, calls), cwd=folder, env=HERE) for calls in (300, 2100)]
    theirs = (bare[1].cpu - bare[0].cpu) / 1800 * 1000
    return [Figure(f"CPU a call in LiteLLM's lane beside its own {theirs:.2f} ms", ours - theirs, 1.5, "ms")]


def _measured(url: str, folder: Path, client: str, *words: str) -> WholeRun:
    return whole_run(url, _SCENARIOS, folder, client, *words)


def _wall(runs: list[WholeRun]) -> float:
    return statistics.median(one.took.wall for one in runs)


def _cpu_of_a_call(folder: Path, client: str) -> float:
    """Milliseconds of CPU: the slope between two sizes, so that the start is not in it."""
    with chat_server(0.0) as url:
        small, large = (whole_run(url, size, folder / f"cpu-{client}{size}", client) for size in _SIZES)
    return (large.took.cpu - small.took.cpu) / (large.calls - small.calls) * 1000
