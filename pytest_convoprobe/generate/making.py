"""From tools to scenarios: ask, check, ask again with what is wrong, and keep what is right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import prompts
from ..errors import BudgetExceeded, ConvoprobeError
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role, ToolSpec
from ..llm.structured import ask
from ..scenario.new_files import as_yaml
from ..settings.model_settings import ModelSettings
from .checking import Checked, check
from .draft import Draft, as_scenario
from .known import KnownScenarios
from .wishes import Wish

_ATTEMPTS = 3
_MOST_OPENINGS = 20
_MOST_TOOLS = 24_000
"""Characters of the tools' descriptions that the model is given."""


@dataclass(frozen=True)
class Made:
    """A scenario that can be written. `warnings` are what lint still says of it."""

    name: str
    text: str
    what: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """One that can't: what was asked for, and why nothing came of it."""

    what: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Writer:
    """Has scenarios written by a model.

    `source` says what they are made from, for the comment in the files. `keep` is called with each as soon as
    it is made: what is finished must not be lost with the rest.
    """

    llm: LLM
    model: ModelSettings
    known: KnownScenarios
    source: str
    version: str
    keep: Callable[[Made], object]

    async def write(
        self,
        what: str,
        question: str,
        tools: Sequence[str] | None,
        build: Callable[[Draft], Mapping[str, Any]],
        forbidden: Sequence[str] = (),
        kind: str = "",
    ) -> Made | Dropped:
        """Ask for one scenario until it can be used. Raises what the model raises."""
        messages = [Message("user", question)]
        checked = Checked("", None, ("nothing was written",))
        for _ in range(_ATTEMPTS):
            request = LLMRequest(
                self.model, tuple(messages), CallContext(Role.GENERATOR), schema_name="scenario"
            )
            draft = await ask(self.llm, request, Draft)
            text = as_yaml(build(draft), self._comment(what))
            checked = check(text, tools, self.known, forbidden, kind)
            if not checked.complaints:
                break
            complaints = prompts.render("generate/repair", complaints=checked.complaints)
            messages[1:] = [Message("assistant", draft.model_dump_json()), Message("user", complaints)]
        return self._kept(what, checked)

    def _kept(self, what: str, checked: Checked) -> Made | Dropped:
        if checked.scenario is None or checked.errors:
            return Dropped(what, checked.errors)
        # Asked at the end: another one may have been kept meanwhile.
        if (other := self.known.repeated_by(checked.scenario)) is not None:
            return Dropped(what, (f"it begins like another one: {other!r}",))
        self.known.add(checked.scenario)
        made = Made(checked.scenario.name, checked.text, what, checked.warnings)
        self.keep(made)
        return made

    def _comment(self, what: str) -> tuple[str, ...]:
        model = self.model.model or "a model"
        return (
            f"Written by the model {model} with convoprobe generate {self.version}: {what},",
            f"from {self.source}.",
            "Read it before you trust it.",
        )


async def from_tools(
    writer: Writer, tools: Sequence[ToolSpec], wanted: Iterable[Wish]
) -> tuple[list[Made], list[Dropped]]:
    """Scenarios from tools, those of one kind one after the other. A model that fails ends its kind alone."""
    by_kind: dict[str, list[Wish]] = {}
    for wish in wanted:
        by_kind.setdefault(wish.kind, []).append(wish)
    lanes = await asyncio.gather(*(_lane(writer, tools, lane) for lane in by_kind.values()))
    found = [one for lane in lanes for one in lane]
    made = [one for one in found if isinstance(one, Made)]
    return made, [one for one in found if isinstance(one, Dropped)]


async def _lane(writer: Writer, tools: Sequence[ToolSpec], lane: Sequence[Wish]) -> list[Made | Dropped]:
    done: list[Made | Dropped] = []
    for wish in lane:
        try:
            done.append(await _one(writer, tools, wish))
        except BudgetExceeded as error:
            # None of the others could be asked for either.
            return [*done, *(Dropped(one.name, (str(error),)) for one in lane[len(done) :])]
        except ConvoprobeError as error:
            done.append(Dropped(wish.name, (str(error),)))
    return done


async def _one(writer: Writer, tools: Sequence[ToolSpec], wish: Wish) -> Made | Dropped:
    openings = writer.known.openings[-_MOST_OPENINGS:]
    question = prompts.render("generate/scenario", tools=described(tools), wish=wish.words, openings=openings)
    made_from = {"kind": wish.kind, "complexity": wish.complexity, "from": writer.source}

    def build(draft: Draft) -> Mapping[str, Any]:
        # In other kinds, a limit would fail agents for a number that a model has made up.
        limit = draft.max_tool_calls if wish.kind == "efficiency" else None
        limited = draft.model_copy(update={"max_tool_calls": limit})
        return as_scenario(limited, ("generated", wish.kind), made_from)

    names = [tool.name for tool in tools]
    return await writer.write(wish.name, question, names, build, kind=wish.kind)


def described(tools: Sequence[ToolSpec]) -> str:
    """The tools as the model is given them, a line each. Of many, only the first fit."""
    lines = list(_lines(tools))
    return "\n".join(lines)


def _lines(tools: Sequence[ToolSpec]) -> Iterator[str]:
    room = _MOST_TOOLS
    for tool in tools:
        parameters = tool.parameters.get("properties") or {}
        line = f"- {tool.name}: {' '.join(tool.description.split())} Parameters: {json.dumps(parameters)}"
        room -= len(line)
        if room < 0:
            yield f"- … and {len(tools)} tools in all"
            return
        yield line
