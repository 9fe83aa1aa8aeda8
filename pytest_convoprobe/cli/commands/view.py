"""`convoprobe view`: the stored runs as a small site on this machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from ..console import Console
from ..exits import OK, CommandFailed
from ..project import Project, project_options


@click.command(short_help="Look at stored runs in a browser: list, trends, conversations, comparisons.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; by default a free one."
)
@click.option("--open", "opens", is_flag=True, help="Open the site in the browser.")
@project_options
@click.pass_context
def command(
    ctx: click.Context, port: int, opens: bool, config_file: Path | None, results_dir: Path | None
) -> None:
    """Serve the stored runs as a small site, for browsers on this machine alone: the list of runs, the trends
    of scenarios, each run and conversation, and two runs side by side. It only reads. Ctrl-C ends it.

    \b
    Example:
        convoprobe view --open
    """  # noqa: D301 - click looks for the character itself
    from ..site import Site
    from ..site_server import SiteServer

    project = Project.here(config_file, results_dir)
    try:
        server = SiteServer(Site(project), port)
    except OSError as error:
        raise CommandFailed(f"port {port} can't be used: {error.strerror or error}") from None
    console = Console.of()
    with server:
        console.say(f"{server.url} has the runs in {console.safe(str(project.results))}; Ctrl-C ends it")
        if opens:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.say()
            ctx.exit(OK)
