"""Measure the bars of the project and print each figure beside its bar.

`python -m tests.perf [throughput] [cpu] [collection] [idle] [light] [history] [page] [bench] [cluster]`
measures all of them, or the ones named. It exits with 1 when a bar is missed. Quote medians: machines are
noisy.
"""

from __future__ import annotations

import json
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import cluster as ray_cluster
from . import page as large_page
from . import projects
from .measure import Measured, instructions, pytest_command, run

REPOSITORY = Path(__file__).resolve().parents[2]
LATENCY = 0.2
CONCURRENCY = 50


@dataclass(frozen=True)
class Figure:
    """One line of the report; lower is better, unless the bar is to be reached (`at_least`)."""

    what: str
    value: float
    bar: float
    unit: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def __str__(self) -> str:
        mark = "ok  " if self.holds else "MISS"
        return f"{mark}  {self.what:<72} {self.value:>9.2f} {self.unit:<4} bar {self.bar:.2f}"


@contextmanager
def chat_server(latency: float) -> Iterator[str]:
    """The loopback server in a process of its own; yields its address."""
    command = [sys.executable, "-m", "tests.support.chat_server", "--port", "0", "--latency", str(latency)]
    server = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[1]
    finally:
        server.terminate()
        server.wait()


def stats(url: str) -> dict[str, Any]:
    """What the server tells of the calls that it has had."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def calls_so_far(url: str) -> int:
    """How many calls the server has had."""
    return int(stats(url)["requests"])


def gate(url: str, count: int, folder: Path) -> tuple[Measured, int]:
    """Run `pytest` on `count` scenarios of three turns; what it took, and its calls."""
    before = calls_so_far(url)
    project = projects.scenarios(folder, count, url)
    took = run(pytest_command("-q", f"--convoprobe-concurrency={CONCURRENCY}"), cwd=project)
    if took.code != 0:
        raise SystemExit(f"the measured run failed:\n{took.output[-3000:]}")
    return took, calls_so_far(url) - before


def throughput(folder: Path) -> list[Figure]:
    """100 scenarios of 3 turns at 200 ms a call, 50 at once: the whole command."""
    with chat_server(LATENCY) as url:
        runs = [gate(url, 100, folder / f"throughput{n}") for n in range(3)]
        alone = run(_bare(url, 600), cwd=folder, env={"PYTHONPATH": str(REPOSITORY)})
    took = sorted(runs, key=lambda one: one[0].wall)[1]
    bar = 2.2 * (took[1] * LATENCY / CONCURRENCY) + 5
    return [
        Figure(f"100 scenarios, {took[1]} calls: wall time", took[0].wall, bar, "s"),
        Figure("LiteLLM alone, its import and 600 such calls: wall time", alone.wall, float("inf"), "s"),
        Figure("100 scenarios: peak memory", max(one.peak_mb for one, _ in runs), 400, "MB"),
    ]


def cpu(folder: Path) -> list[Figure]:
    """What a call costs beside LiteLLM's own CPU: the slope between two sizes, ours less LiteLLM's."""
    with chat_server(0.0) as url:
        small, large = (gate(url, count, folder / f"cpu{count}") for count in (50, 350))
        bare = [
            run(_bare(url, calls), cwd=folder, env={"PYTHONPATH": str(REPOSITORY)}) for calls in (300, 2100)
        ]
    ours = (large[0].cpu - small[0].cpu) / (large[1] - small[1]) * 1000
    theirs = (bare[1].cpu - bare[0].cpu) / 1800 * 1000
    return [Figure(f"CPU a call beside LiteLLM's {theirs:.2f} ms", ours - theirs, 1.5, "ms")]


def _bare(url: str, calls: int, at_once: int = CONCURRENCY, *file: str) -> list[str]:
    return [sys.executable, "-m", "tests.perf.bare_calls", url, str(calls), str(at_once), *file]


def collection(folder: Path) -> list[Figure]:
    """1,000 scenario files are collected, nothing is run."""
    project = projects.scenarios(folder / "collection", 1000)
    runs = [run(pytest_command("--collect-only", "-q"), cwd=project) for _ in range(3)]
    if "1000 tests collected" not in runs[0].output:
        raise SystemExit(runs[0].output[-3000:])
    return [
        Figure("1,000 scenario files collected: wall time", statistics.median(r.wall for r in runs), 3, "s"),
        Figure("1,000 scenario files collected: peak memory", max(r.peak_mb for r in runs), 150, "MB"),
    ]


def idle(folder: Path) -> list[Figure]:
    """200 plain tests: what the plug-in adds, pytest's search for it among what is installed included.

    Where valgrind is there, instructions are counted, which comes out the same each time. Otherwise it
    is the wall time of the fastest of many runs, in turn: noise only ever adds.
    """
    project = projects.plain_tests(folder / "idle", 200)
    commands = pytest_command("-q"), pytest_command("-q", plugin=False)
    for command in commands:
        run(command, cwd=project)  # once before, so that the bytecode is there
    if shutil.which("valgrind"):
        what = "instructions"
        with_it, without = (instructions(command, cwd=project) for command in commands)
    else:
        what = "wall time"
        runs = [[run(command, cwd=project).wall for command in commands] for _ in range(25)]
        with_it, without = map(min, zip(*runs, strict=True))
    return [Figure(f"200 plain tests, {what}: the plug-in adds", (with_it / without - 1) * 100, 3, "%")]


def light(folder: Path) -> list[Figure]:
    """A suite without scenarios, but with other YAML files: what the plug-in adds."""
    project = projects.with_other_yaml(folder / "light")
    with_it, without = (
        _weight(pytest_command("-q", "."), project),
        _weight(pytest_command("-q", ".", plugin=False), project),
    )
    modules, memory = (mine - other for mine, other in zip(with_it, without, strict=True))
    return [
        Figure("a suite with other YAML files: modules that the plug-in adds", modules, 10, ""),
        Figure("a suite with other YAML files: memory that the plug-in adds", memory, 1, "MB"),
    ]


def _weight(command: list[str], project: Path) -> tuple[float, float]:
    """The number of modules and the peak memory in MB, the middle of several runs.

    The process says itself how much it had: the system counts what its parent had before it began, too.
    """
    found = []
    for _ in range(9):
        run(command, cwd=project)
        found.append([float(word) for word in (project / "weight.txt").read_text().split()])
    modules, kilobytes = (statistics.median(one) for one in zip(*found, strict=True))
    return modules, kilobytes / 1024


def history(folder: Path) -> list[Figure]:
    """Answers out of 100,000 stored trials: by the functions alone, and by whole commands."""
    store = folder / "store"
    made = run(_history("make", store), cwd=folder, env={"PYTHONPATH": str(REPOSITORY)})
    if made.code:
        raise SystemExit(made.output[-3000:])
    functions = {what: _history(what, store) for what in ("list", "trends", "flaky", "compare")}
    commands = {f"`convoprobe {words}`": _convoprobe(words, store) for words in COMMANDS}
    asked = {**functions, **commands}.items()
    return [figure for name, command in asked for figure in _answered(name, command, folder)]


COMMANDS = (
    "runs --all",
    "show latest",
    "show latest 'customer with problem 250'",
    "trends",
    "trends --scenario 'customer with problem 250'",
    "flaky",
    "compare latest~1 --fail-on none",
)


def _answered(name: str, command: list[str], folder: Path) -> list[Figure]:
    runs = [run(command, cwd=folder, env={"PYTHONPATH": str(REPOSITORY)}) for _ in range(3)]
    if any(one.code for one in runs):
        raise SystemExit(runs[0].output[-3000:])
    wall, peak = statistics.median(one.wall for one in runs), max(one.peak_mb for one in runs)
    return [
        Figure(f"100,000 trials, {name}: wall time", wall, 5, "s"),
        Figure(f"100,000 trials, {name}: peak memory", peak, 500, "MB"),
    ]


def _history(what: str, store: Path) -> list[str]:
    return [sys.executable, "-m", "tests.perf.history", what, str(store)]


def _convoprobe(words: str, store: Path) -> list[str]:
    return [sys.executable, "-m", "pytest_convoprobe.cli", *shlex.split(words), "--results", str(store)]


def page(folder: Path) -> list[Figure]:
    """The HTML report on 2,000 trials of 20 turns."""
    file = folder / "report.html"
    size = large_page.make(file)
    paint = statistics.median(large_page.first_paint(file) for _ in range(3))
    return [
        Figure("page of 2,000 trials of 20 turns: size", size, 60, "MB"),
        Figure("page of 2,000 trials of 20 turns: first paint", paint, 3, "s"),
    ]


def cluster(folder: Path) -> list[Figure]:
    """Two Ray workers on this machine beside one process, by the middle of three tries."""
    ratio = statistics.median(ray_cluster.speed_up(folder) for _ in range(3))
    return [Figure("two Ray workers beside one process: throughput", ratio, 1.7, "x", at_least=True)]


def bench(folder: Path) -> list[Figure]:
    """100,000 rows of a benchmark with nothing to do; conversations over the network, 100 at once."""
    _bench(folder, "make", "finished")
    runs = [_bench(folder, "all", "finished") for _ in range(3)]
    wall, peak = statistics.median(one.wall for one in runs), max(one.peak_mb for one in runs)
    ratio, alone = _rates(folder)
    return [
        Figure("100,000 rows, all stages with nothing to do: wall time", wall, 20, "s"),
        Figure("100,000 rows, all stages with nothing to do: peak memory", peak, 500, "MB"),
        Figure(f"simulate: share of the {alone:.0f} calls/s that LiteLLM alone makes", ratio, 0.8, "x", True),
    ]


def _rates(folder: Path) -> tuple[float, float]:
    """Calls a second of simulate as a share of LiteLLM's alone with the same calls, and LiteLLM's.

    A machine's speed changes within minutes, so each run is compared with the one that follows it.
    """
    _bench(folder, "calls", "alone", "80")
    pairs = []
    for number in range(5):
        with chat_server(LATENCY) as url:
            _bench(folder, "simulate", f"talks{number}", url, "320")
            ours, calls = _rate(url), calls_so_far(url)
        with chat_server(LATENCY) as url:
            run(_bare(url, calls, 100, "alone/calls.json"), cwd=folder, env=_HERE)
            pairs.append((ours / _rate(url), _rate(url)))
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def _rate(url: str) -> float:
    """Calls a second in the middle of a run: without the first and the last fifth, when fewer are at work."""
    times = stats(url)["started"]
    first, last = len(times) // 5, len(times) * 4 // 5
    return float((last - first) / (times[last] - times[first]))


def _bench(folder: Path, *words: str) -> Measured:
    took = run([sys.executable, "-m", "tests.perf.bench", *words], cwd=folder, env=_HERE)
    if took.code:
        raise SystemExit(took.output[-3000:])
    return took


_HERE = {"PYTHONPATH": str(REPOSITORY)}

BENCHMARKS: dict[str, Callable[[Path], list[Figure]]] = {
    "throughput": throughput,
    "cpu": cpu,
    "collection": collection,
    "idle": idle,
    "light": light,
    "history": history,
    "page": page,
    "bench": bench,
    "cluster": cluster,
}


def main(names: list[str]) -> int:
    """Measure what is named (all by default) and print it; 1 when a bar is missed."""
    figures: list[Figure] = []
    for name in names or list(BENCHMARKS):
        with tempfile.TemporaryDirectory() as folder:
            for figure in BENCHMARKS[name](Path(folder)):
                sys.stdout.write(f"{figure}\n")
                sys.stdout.flush()
                figures.append(figure)
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
