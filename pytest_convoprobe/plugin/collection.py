"""Scenario files as pytest's collectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType

import pytest

from ..errors import ScenarioFileError
from ..files import relative_name
from ..scenario.loading import LoadedScenario, with_distinct_ids, with_parameters, with_target
from . import options
from .gating import chosen
from .items import ScenarioItem, function_of
from .keys import COLLECTED, start
from .lookahead import STATE_FIXTURE, target_has_parameters, target_is_ours
from .marks import ONCE, tag_markers
from .session import backend_of
from .several_targets import complaint_of_file, names_for


class ScenarioFile(pytest.Module):
    """A file of scenarios, which is a module to pytest, as its own text files of doctests are.

    So fixtures of every scope have a node that they belong to, and `request.module` is an object. Its
    scenarios are generated as the functions of a module are: parametrised fixtures and
    `pytest_generate_tests` make several items of one.
    """

    def _getobj(self) -> ModuleType:
        # Never imported, and so in no `sys.modules`: there is no code in it.
        module = ModuleType(self.path.stem)
        module.__file__ = str(self.path)
        return module

    def istestfunction(self, obj: object, name: str) -> bool:
        """Whatever it is called: a scenario's name follows no pattern of functions."""
        return True

    def collect(self) -> Iterable[ScenarioItem]:
        try:
            scenarios = backend_of(self.config).load_scenarios(self.path)
        except ScenarioFileError as error:
            raise self.CollectError(self._in_words(error)) from None
        start(self.config)
        made = [(loaded, one) for scenario in scenarios for loaded, one in self._made_of(scenario)]
        loaded = with_distinct_ids([loaded for loaded, _ in made])
        if hasattr(self.config, "workerinput") and (words := complaint_of_file(self.config, loaded)):
            raise self.CollectError(words)
        self.config.stash.setdefault(COLLECTED, {})[self.path] = len(loaded)
        policy = chosen(self.config, str(self.path))
        trials = range(1, options.trials(self.config) + 1) if policy == "each" else (1,)
        return [
            ScenarioItem.of(self, scenario, trial, generated, policy)
            for scenario, (_, generated) in zip(loaded, made, strict=True)
            for trial in trials
        ]

    def _made_of(self, scenario: LoadedScenario) -> Iterator[tuple[LoadedScenario, pytest.Function]]:
        """What pytest makes of a scenario: a function for each set of parameters, and for each target."""
        name = _name_for_pytest(scenario.id)
        for function in self._generated(name, scenario):
            parameters = function.name.removeprefix(name).removeprefix("[").removesuffix("]")
            one = with_parameters(scenario, parameters, of_target=target_has_parameters(function))
            # A fixture of the project comes before the settings.
            targets = names_for(self.config, str(self.path)) if target_is_ours(function) else ()
            for made in (with_target(one, target) for target in targets) if targets else (one,):
                yield made, function

    def _generated(self, name: str, scenario: LoadedScenario) -> list[pytest.Function]:
        function = function_of(scenario)
        # Hooks may ask for tags. Repetitions by pytest-repeat are trials, which are made here.
        function.pytestmark = [*tag_markers(self.config, scenario.tags), ONCE, *_marks_of_state(scenario)]  # type: ignore[attr-defined]
        vars(self.obj)[name] = function  # where pytest looks it up
        try:
            made = self.ihook.pytest_pycollect_makeitem(collector=self, name=name, obj=function)
        finally:
            del vars(self.obj)[name]
        found = made if isinstance(made, list) else [made]
        functions = [one for one in found if isinstance(one, pytest.Function)]
        if not functions:
            # Such a hook leaves out functions on purpose, but a scenario that is left out has to be named.
            raise self.CollectError(
                f"{self.nodeid}::{scenario.id}: a hook `pytest_pycollect_makeitem` of this suite makes no "
                "test of it; let the hook return None for what isn't its own"
            )
        return functions

    def _in_words(self, error: ScenarioFileError) -> str:
        """All problems, with the paths as pytest shows them."""
        return "\n".join(str(problem.renamed(self._shown)) for problem in error.problems)

    def _shown(self, file: str) -> str:
        return self.nodeid if file == str(self.path) else relative_name(file, self.config.rootpath)


def _name_for_pytest(name: str) -> str:
    """The name of the function in its module; names that mean something there get another one."""
    return "scenario" if name.startswith(("__", "pytest_")) else name


def _marks_of_state(scenario: LoadedScenario) -> list[pytest.MarkDecorator]:
    """That the item of a scenario with checks of the project's own has the fixture of the state."""
    own = scenario.scenario is not None and scenario.scenario.evaluation.checks
    return [pytest.mark.usefixtures(STATE_FIXTURE)] if own else []
