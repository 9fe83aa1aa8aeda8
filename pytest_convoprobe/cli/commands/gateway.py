"""`convoprobe gateway`: a service whose model calls reach the scenarios of pytest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import SettingsError
from ..event_loop import loop_thread
from ..guarded_command import run_guarded
from ..project import Project, project_options

if TYPE_CHECKING:
    from ...settings.loading import LoadedSettings


@click.command(
    short_help="Start a service whose model calls are recorded and replayed.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@project_options
@click.pass_context
def command(
    ctx: click.Context, words: tuple[str, ...], config_file: Path | None, results_dir: Path | None
) -> None:
    """Start COMMAND, the service that is tested, so that its calls of models come to a gateway on this
    machine: `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` and the like lead there. Which of them are set follows
    from `target.models` in the settings.

    Leave it running, and start pytest beside it, in the same project or in a folder above it: the sessions
    find the gateway, and get the calls of their conversations. Without a session, calls are refused.

    It ends with COMMAND and has its exit status. When it ends first, by Ctrl-C or SIGTERM, it ends COMMAND
    and all that this has started.

    \b
    Example:
        convoprobe gateway -- uvicorn my_service:app --port 8000
    """  # noqa: D301 - click looks for the character itself
    from ...gateway.relay import Relay
    from ...gateway.relay_file import announced
    from ...gateway.variables import key_of, variables_of

    project = Project.here(config_file, results_dir)
    upstreams = _upstreams(project.settings({"run.replay": "only"}))
    relay = Relay()
    variables = variables_of(relay.url, upstreams)
    for one in upstreams:
        variables |= key_of(one)
    with loop_thread() as loop:
        loop.run(relay.start())
        try:
            with announced(relay.url, project.root):
                click.echo(f"gateway: {', '.join(sorted(variables))} are set for {words[0]}", err=True)
                status = run_guarded(words, {**os.environ, **variables})
        finally:
            loop.run(relay.aclose())
    ctx.exit(status)


def _upstreams(loaded: LoadedSettings) -> list[str]:
    """The names of the providers that the service calls. Raises `SettingsError` if the settings name none."""
    from ...settings.several_targets import each_target, models_of

    found = [models for _, one in each_target(loaded) if (models := models_of(one)) is not None]
    if not found:
        raise SettingsError.of(
            "the settings don't say which providers the service calls: set `target.models`, such as "
            "`models: {openai: https://api.openai.com/v1}`",
            file=str(loaded.file or ""),
            path="target.models",
        )
    return list(dict.fromkeys(name for models in found for name in models.addresses))
