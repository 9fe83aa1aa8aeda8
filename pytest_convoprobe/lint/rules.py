"""Every rule, by its id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import of_checks, of_conditions, of_pairs, of_parameters, of_wording
from .finding import Fault, Level
from .subject import Subject


@dataclass(frozen=True)
class Rule:
    """A kind of fault. `english` rules read English words, and say nothing of other languages."""

    id: str
    level: Level
    summary: str
    find: Callable[[Subject], Iterable[Fault]]
    english: bool = False


RULES = (
    Rule("compound-criterion", Level.WARNING, "a criterion that asks two things", of_wording.compound, True),
    Rule(
        "vague-criterion",
        Level.WARNING,
        "a criterion that names nothing which can be seen",
        of_wording.vague,
        True,
    ),
    Rule(
        "about-the-user", Level.WARNING, "a criterion about what the user does", of_wording.about_user, True
    ),
    Rule("duplicate-criterion", Level.WARNING, "two criteria that ask the same", of_pairs.duplicate),
    Rule(
        "contradiction",
        Level.ERROR,
        "criteria, facts or limits that exclude each other",
        of_pairs.contradiction,
    ),
    Rule(
        "decided-by-check",
        Level.WARNING,
        "a criterion that code decides, or could",
        of_checks.decided_by_check,
        True,
    ),
    Rule(
        "unreachable-turn",
        Level.ERROR,
        "a criterion about a turn that never comes",
        of_checks.unreachable,
        True,
    ),
    Rule(
        "only-limits",
        Level.WARNING,
        "checks by code alone that an agent passes which does nothing",
        of_checks.only_limits,
    ),
    Rule("no-effect", Level.WARNING, "a limit or a list that changes nothing", of_checks.no_effect),
    Rule(
        "one-case",
        Level.WARNING,
        "words that no reply may have, which pass with a capital letter",
        of_conditions.one_case,
    ),
    Rule(
        "missing-fact",
        Level.WARNING,
        "an argument that neither the user nor the agent knows",
        of_checks.missing_fact,
    ),
    Rule(
        "not-filled-in",
        Level.WARNING,
        "a condition with `${name}` in a scenario without parameters",
        of_parameters.not_filled_in,
    ),
)

INVALID_FILE = "invalid-file"
"""The rule of a file that can't be read as scenarios; `convoprobe validate` says the same."""

OPINION = "opinion"
"""The rule of what a model says of a scenario, where one was asked."""

IDS = (*(rule.id for rule in RULES), INVALID_FILE, OPINION)
