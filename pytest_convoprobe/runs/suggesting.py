"""Suggestions about the agent's tools, after a conversation that failed."""

from __future__ import annotations

from collections.abc import Sequence

from ..judging.review import Against
from ..judging.tool_advice import FailedTalk, suggestions_for
from ..judging.types import ToolSuggestions
from ..llm.port import LLM, CallContext, Role
from ..redaction import Redactor
from ..transcript import Transcript
from .job import Job
from .preconditions import described_tools

NOTHING_JUDGED = ToolSuggestions(note="no suggestions: the judge found nothing against the agent")
"""For a failure without a finding: the agent crashed, or what was undecided counts as failed."""


def wants_suggestions(job: Job) -> bool:
    """Whether a failed conversation gets suggestions.

    One that is judged again does not: only its verdict is asked for, and its target is only named.
    """
    return job.settings.judge.suggestions and job.held is None


async def suggested(
    llm: LLM, job: Job, transcript: Transcript, findings: Sequence[Against], redactor: Redactor
) -> ToolSuggestions:
    """The suggestions after a failed conversation, which is given as the judge has seen it."""
    tools = redactor.personal(await described_tools(job.target))
    talk = FailedTalk(transcript, findings, tools)
    context = CallContext(Role.JUDGE, job.scenario_id, job.trial)
    return await suggestions_for(llm, job.settings.judge, talk, context, redactor)
