"""The user's side of a trial's conversation."""

from __future__ import annotations

from datetime import datetime

from ..conversation.earlier_turns import Repeating
from ..conversation.loop import Limits
from ..conversation.port import AgentFirst, UserSimulator
from ..conversation.simulated import SimulatedUser
from ..conversation.user import ScenarioUser, persona_values
from ..llm.port import LLM
from .job import Job


def user_of(job: Job, llm: LLM, now: datetime | None) -> UserSimulator:
    """Who says the user's messages: the script, the turns of an earlier conversation, or a model."""
    user = job.scenario.synthetic_user
    simulated = SimulatedUser(
        llm,
        job.settings.synthetic_user,
        values=persona_values(user, now),
        scenario=job.scenario_id,
        trial=job.trial,
        asks_guard=now is not None,
    )
    scenario_user = ScenarioUser(user, simulated)
    return Repeating(job.earlier, scenario_user) if job.earlier else scenario_user


def agent_first(job: Job) -> AgentFirst | None:
    """How the agent is made to speak first; None where the user does."""
    if job.scenario.synthetic_user.first == "user":
        return None
    return AgentFirst(job.settings.greeting_cue or "")


def limits_of(job: Job) -> Limits:
    """How long the conversation of a trial may go on."""
    user, run = job.scenario.synthetic_user, job.settings.run
    return Limits(user.max_turns, run.turn_timeout, user.ends_with_tools, run.max_text)
