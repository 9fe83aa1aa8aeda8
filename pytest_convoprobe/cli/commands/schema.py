"""`convoprobe schema`: the JSON Schema of scenario files, or of labels files."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(short_help="Print the JSON Schema of scenario files.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the schema to this file.",
)
@click.option("--labels", is_flag=True, help="The schema of files with labelled conversations.")
def command(output: Path | None, labels: bool) -> None:
    """Print the JSON Schema of scenario files, so that editors can complete and check them. With --labels, it
    is the schema of labels files.

    \b
    Example:
        convoprobe schema --output scenarios/.schema.json

    and in the first line of a scenario file:

    \b
        # yaml-language-server: $schema=.schema.json
    """  # noqa: D301 - click looks for the character itself
    from ...calibration.schema import labels_schema
    from ...scenario.schema import scenario_schema

    text = json.dumps(labels_schema() if labels else scenario_schema(), indent=2) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(output), error.strerror or str(error)) from None
