"""From a conversation that happened to a scenario that reproduces it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import prompts
from ..errors import ConvoprobeError
from ..judging.transcript_view import view_of
from ..redaction import Redactor
from ..transcript import Transcript
from .draft import Draft, as_scenario, with_greeting
from .making import Dropped, Made, Writer
from .replacing import without_personal_data


async def from_transcripts(
    writer: Writer, transcripts: Sequence[Transcript], redactor: Redactor
) -> tuple[list[Made], list[Dropped]]:
    """A scenario for each conversation, one after the other. One that fails hides no other."""
    made: list[Made] = []
    dropped: list[Dropped] = []
    for number, transcript in enumerate(transcripts, start=1):
        what = f"conversation {number}" if len(transcripts) > 1 else "a conversation"
        try:
            found = await _one(writer, transcript, redactor, what)
        except ConvoprobeError as error:
            found = Dropped(what, (str(error),))
        if isinstance(found, Made):
            made.append(found)
        else:
            dropped.append(found)
    return made, dropped


async def _one(writer: Writer, transcript: Transcript, redactor: Redactor, what: str) -> Made | Dropped:
    replaced, found = await without_personal_data(writer.llm, writer.model, transcript, redactor)
    said = [turn.user for turn in replaced.user_turns]
    greeted = len(said) < len(replaced.turns)
    tools = list(dict.fromkeys(_called(replaced)))
    question = prompts.render(
        "generate/reproduce",
        conversation=view_of(replaced, ending=False).text,
        opening=said[0],
        tools=", ".join(tools) or "none were called",
    )

    def build(draft: Draft) -> Mapping[str, Any]:
        # The words of the user and the tools are facts: a model has no say in them.
        named = [tool for tool in draft.required_tools if tool in tools]
        exact = draft.model_copy(update={"initial_query": said[0], "required_tools": named})
        made_from = {"kind": "transcript", "from": writer.source}
        made = as_scenario(exact, ("generated", "reproduced"), made_from, said[1:])
        return with_greeting(made) if greeted else made

    return await writer.write(what, question, None, build, found.originals)


def _called(transcript: Transcript) -> Iterable[str]:
    return (call.name for _, call in transcript.tool_calls if not call.failed)
