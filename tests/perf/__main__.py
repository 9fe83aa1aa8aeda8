"""Measure the bars of the project and print each figure beside its bar.

`python -m tests.perf [direct] [workers] [throughput] [cpu] [collection] [idle] [light] [history] [page]
[bench] [cluster]` measures all of them, or the ones named. It exits with 1 when a bar is missed. Quote
medians: machines are noisy.
"""

from __future__ import annotations

import shlex
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import cluster as ray_cluster
from . import lanes, projects
from . import page as large_page
from .figure import Figure
from .loopback import HERE, LATENCY, bare_calls, calls_so_far, chat_server, stats
from .measure import Measured, instructions, pytest_command, run


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
    made = run(_history("make", store), cwd=folder, env=HERE)
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
    runs = [run(command, cwd=folder, env=HERE) for _ in range(3)]
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
            run(bare_calls(url, calls, 100, "alone/calls.json"), cwd=folder, env=HERE)
            pairs.append((ours / _rate(url), _rate(url)))
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def _rate(url: str) -> float:
    """Calls a second in the middle of a run: without the first and the last fifth, when fewer are at work."""
    times = stats(url)["started"]
    first, last = len(times) // 5, len(times) * 4 // 5
    return float((last - first) / (times[last] - times[first]))


def _bench(folder: Path, *words: str) -> Measured:
    took = run([sys.executable, "-m", "tests.perf.bench", *words], cwd=folder, env=HERE)
    if took.code:
        raise SystemExit(took.output[-3000:])
    return took


BENCHMARKS: dict[str, Callable[[Path], list[Figure]]] = {
    "direct": lanes.direct,
    "workers": lanes.workers,
    "throughput": lanes.throughput,
    "cpu": lanes.cpu,
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
