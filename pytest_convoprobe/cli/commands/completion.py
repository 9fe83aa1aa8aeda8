"""`convoprobe completion`: a script for shell completion."""

from __future__ import annotations

import click

from ..suggestions import OneOf

_SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print a script for shell completion.")
@click.argument("shell", type=OneOf(_SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script with which a SHELL completes commands, options and file names.

    \b
    Example:
        convoprobe completion bash >> ~/.bashrc
        convoprobe completion zsh >> ~/.zshrc
        convoprobe completion fish > ~/.config/fish/completions/convoprobe.fish
    """  # noqa: D301 - click looks for the character itself
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choices are click's own shells
    # Not `source()`: for bash that runs bash to see its version, which may not be installed here.
    complete = kind(ctx.find_root().command, {}, "convoprobe", "_CONVOPROBE_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())
