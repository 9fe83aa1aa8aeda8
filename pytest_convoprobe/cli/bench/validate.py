"""`convoprobe bench validate`: do the results depend on one of the models?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..console import Console, write_json
from ..exits import FINDINGS, OK, UsageProblem
from ..project import json_option
from .shared.options import BenchOptions, dry_run_option, folder_argument, loading_options, running_options
from .shared.printing import print_report, report_json
from .shared.progress_model import ProgressModel
from .shared.run_stages import status_of, watched

if TYPE_CHECKING:
    from ...benchmark.format.model_swap import Swap, SwappedRole
    from ...benchmark.format.project import LoadedBenchmark
    from ...benchmark.studies.validation import Validation


@click.command(short_help="Repeat with another generator, user or evaluator, and compare.")
@folder_argument
@click.option("--generator", metavar="MODEL", help="The model that writes metrics and scenarios.")
@click.option("--user-model", metavar="MODEL", help="The model that plays the user.")
@click.option("--evaluator", metavar="MODEL", help="The model that evaluates.")
@click.option(
    "--sample", metavar="N", type=click.IntRange(min=1), help="Use only N scenarios, the same on both sides."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@dry_run_option
@loading_options
@running_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, folder: Path, sample: int | None, seed: int, **given: Any) -> None:
    """Replace the model of one role by MODEL, repeat the stages that depend on it in a folder beside DIR,
    and show how the ranking of the targets and their pass rates changed. So you see whether the results
    describe the targets or the model. Everything else is reused: another evaluator reads the same
    conversations, another user plays the same scenarios.

    The exit status is 1 if the ranking changed or if conversations without a verdict could not be compared,
    3 as with `all`.

    \b
    Example:
        convoprobe bench validate honesty --evaluator anthropic/claude-sonnet-4-6 --sample 20
    """  # noqa: D301 - click looks for the character itself
    from ...benchmark.studies.validation import validate

    swap = _swap({name: given.pop(name) for name in ("generator", "user_model", "evaluator")})
    asked = BenchOptions(folder, **given)
    loaded, engine, watch = asked.load(), asked.make_engine(), ProgressModel()
    work = validate(
        loaded,
        swap,
        sample=sample,
        seed=seed,
        config_file=asked.config_file,
        engine=engine,
        options=asked.options(),
        progress=watch,
    )
    found = watched(work, watch, engine)
    if asked.as_json:
        write_json(_as_json(found))
    else:
        _print(Console.of(), found, loaded)
    status = status_of(found.report, in_part=sample is not None)
    ctx.exit(status or (FINDINGS if _moved(found) else OK))


def _swap(models: dict[str, str | None]) -> Swap:
    from ...benchmark.format.model_swap import Swap

    named = [(role.replace("_", "-"), model) for role, model in models.items() if model]
    if len(named) != 1:
        raise UsageProblem("name one other model: --generator MODEL, --user-model MODEL or --evaluator MODEL")
    ((role, model),) = named
    return Swap(cast("SwappedRole", role), model)


def _moved(found: Validation) -> bool:
    return found.comparison is not None and bool(found.comparison.tracks["overall"].moved)


def _print(console: Console, found: Validation, loaded: LoadedBenchmark) -> None:
    from .shared.comparison import print_comparison

    print_report(console, found.report, loaded, results=False)
    if found.comparison is None:
        if not found.report.forecasts:
            console.say("nothing was made that could be compared, and no second folder is left")
        return
    print_comparison(console, found.comparison)
    console.say()
    console.say(f"the second run is in {console.safe(str(found.folder.path))}")


def _as_json(found: Validation) -> dict[str, Any]:
    comparison = found.comparison.to_json() if found.comparison else None
    return {"comparison": comparison, "run": report_json(found.report, found.folder)}
