"""From a promptfoo configuration to scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ...suggest import did_you_mean
from ...yaml_source import Loc
from ..building import ScenarioBuilder, quoted, shorten_line
from ..notes import Fate, ImportedSuite, ImportedTest, ImportNote
from ..noting import note
from ..options import ImportOptions
from ..shapes import as_mapping
from ..sources import ForeignFile
from .assertions import AssertionContext, take_assertion
from .cases import PromptfooCase, cases_in, cases_of
from .files import NotRead, SuiteFiles
from .merging import MOST_VARIANTS, WholeTest, left_out_variants, merged, simulated_user, variants
from .prompts import PromptTemplate, prompts_of
from .said import say

MOST_TESTS = 20_000
"""The most tests that are taken of one suite."""

_USED = frozenset(("prompts", "tests", "scenarios", "defaultTest", "assertionTemplates", "description"))
_SETTINGS = {
    "providers": "the target of the settings is tested",
    "targets": "the target of the settings is tested",
    "env": "variables of the environment aren't filled in, so that no secret gets into a scenario",
    "redteam": "attacks that promptfoo generates aren't taken over",
    "extensions": "code isn't run here",
    "derivedMetrics": "scores aren't computed",
    "nunjucksFilters": "code isn't run here",
    "evaluateOptions": "how often and how fast is said by the settings of `run`",
    "commandLineOptions": "they are for promptfoo's command",
    "defaultTest.transform": "code isn't run here",
    "tracing": "calls of tools are seen by the target itself",
    "sharing": "it is for promptfoo's own reports",
    "outputPath": "it is for promptfoo's own reports",
    "writeLatestResults": "it is for promptfoo's own reports",
    "tags": "they are for promptfoo's own reports",
    "metadata": "it is for promptfoo's own reports",
    "$schema": "",
}
_TEST_KEYS = frozenset(
    "description vars assert options metadata threshold provider prompts author id".split()
)
_TEST_SETTINGS = {
    "providers": "the target of the settings is tested",
    "providerOutput": "an output that is given isn't judged; the target is asked",
    "assertScoringFunction": "every check has to hold, and no score is computed",
}
_OPTIONS = frozenset(("prefix", "suffix", "disableVarExpansion", "disableDefaultAsserts"))
_TRANSFORMS = ("transform", "postprocess")


def read(source: ForeignFile, options: ImportOptions) -> ImportedSuite:
    """The tests of a configuration, or of a file with tests alone."""
    reader = _Reading(source, options)
    return reader.suite()


class _Reading:
    """One configuration while it is read."""

    def __init__(self, source: ForeignFile, options: ImportOptions) -> None:
        self._source = source
        self._options = options
        self._files = SuiteFiles(source.path.parent)
        self._alone = not isinstance(source.data, Mapping) or not _USED & source.data.keys()
        self._config: Mapping[str, Any] = {} if self._alone else source.data
        self._notes: list[ImportNote] = []
        self._default = self._default_test()

    def suite(self) -> ImportedSuite:
        self._note_settings()
        cases = (
            cases_in(self._source, self._files, self._note)
            if self._alone
            else cases_of(self._config, self._source, self._files, self._note)
        )
        prompts = self._prompts()
        found = (test for case in cases for test in self._tests(case, prompts))
        tests = tuple(islice(found, MOST_TESTS))
        if next(found, None) is not None:
            why = f"there are more tests than the {MOST_TESTS:,} that are taken"
            self._notes.append(
                note(Fate.LOST, "the file", "too many tests", why, "import parts of the suite")
            )
        return ImportedSuite("promptfoo", self._source.name, tests, tuple(self._notes))

    def _note(self, source: ForeignFile, loc: Loc, kind: str, why: str, advice: str) -> None:
        where = "" if source is self._source else f"{source.name}: "
        fate = Fate.LOST if kind.endswith("aren't read") else Fate.LEFT_OUT
        self._notes.append(note(fate, f"{where}{source.place(loc)}", kind, why, advice))

    def _default_test(self) -> Mapping[str, Any]:
        found = self._config.get("defaultTest")
        if isinstance(found, str):
            try:
                found = self._files.value(found)
            except NotRead as error:
                self._note(self._source, ("defaultTest",), "defaults that aren't read", str(error), "")
        return found if isinstance(found, Mapping) else {}

    def _note_settings(self) -> None:
        for key in self._config.keys() - _USED:
            why = _SETTINGS.get(key)
            if why is None:
                near = did_you_mean(key, (*_USED, *_SETTINGS))
                why = f"`{key}` isn't a known key of a configuration{near}"
                self._note(self._source, (key,), "unknown key", why, "")
            elif why:
                self._note(self._source, (key,), f"`{key}`", why, "")

    def _prompts(self) -> list[PromptTemplate]:
        if self._options.message:
            return [PromptTemplate(self._options.message)]
        return prompts_of(self._config, self._source, self._files, self._note)

    def _tests(self, case: PromptfooCase, prompts: list[PromptTemplate]) -> Iterator[ImportedTest]:
        test = merged(case, self._default, self._source, self._files)
        user = simulated_user(test, self._config)
        if more := left_out_variants(test):
            why = f"its lists of values make {more:,} tests more than the {MOST_VARIANTS:,} that are taken"
            place = case.source.place(case.loc)
            self._notes.append(note(Fate.LOST, place, "tests of lists", why, "use shorter lists"))
        meant = [one for one in prompts if one.is_meant(test.data.get("prompts"))]
        for values, varied in variants(test):
            # A simulated user is sent no prompt: there the prompts are the agent's instructions.
            for prompt in meant[:1] if user is not None else meant:
                label = prompt.label if len(meant) > 1 and user is None else ""
                yield self._test(case, test, values, prompt, user, ", ".join(filter(None, (varied, label))))

    def _test(
        self,
        case: PromptfooCase,
        test: WholeTest,
        values: Mapping[str, Any],
        prompt: PromptTemplate,
        user: Mapping[str, Any] | None,
        label: str,
    ) -> ImportedTest:
        own_id = test.data.get("id") or test.data.get("description") or case.source.place(case.loc)
        builder = ScenarioBuilder(case.source, case.loc, str(own_id), "", self._source)
        say(builder, test, values, prompt, user, self._options)
        self._note_keys(builder, test)
        self._describe(builder, test, label)
        self._take_assertions(builder, test, values, whole_talk=user is not None)
        builder.metadata = {"vars": dict(values), **as_mapping(test.data.get("metadata"))}
        return builder.build()

    def _describe(self, builder: ScenarioBuilder, test: WholeTest, label: str) -> None:
        own = str(test.data.get("description") or "")
        about = filter(None, (str(self._config.get("description") or ""), own))
        beginning = shorten_line(builder.initial_query, 120)
        builder.description = ": ".join(about) or f"A test of promptfoo: {beginning}"
        title = shorten_line(own or builder.initial_query, 60)
        builder.name = f"{title}{f' ({label})' if label else ''}"
        builder.tags.append("promptfoo")

    def _take_assertions(
        self, builder: ScenarioBuilder, test: WholeTest, values: Mapping[str, Any], *, whole_talk: bool
    ) -> None:
        context = AssertionContext(
            builder,
            self._files,
            values,
            whole_talk=whole_talk,
            transformed=any(test.options.get(key) for key in _TRANSFORMS),
            templates=as_mapping(self._config.get("assertionTemplates")),
        )
        for source, loc, raw in test.assertions:
            with builder.at(source, loc):
                take_assertion(raw, (), context)

    def _note_keys(self, builder: ScenarioBuilder, test: WholeTest) -> None:
        for key, value in test.data.items():
            if (why := _TEST_SETTINGS.get(key)) is not None:
                builder.left_out((key,), f"`{key}` of a test", why)
            elif key not in _TEST_KEYS:
                near = did_you_mean(key, (*_TEST_KEYS, *_TEST_SETTINGS))
                builder.left_out((key,), "unknown key", f"`{key}` isn't a known key of a test{near}")
            elif key == "threshold" and value not in (None, "", 1):
                why = f"in promptfoo, a score of {quoted(str(value))} was enough; now every check has to hold"
                builder.left_out((key,), "threshold of a test", why, "take out the checks that may fail")
        for key in test.options.keys() - _OPTIONS:
            if test.options[key] not in (None, False, ""):
                why = "it changes what promptfoo sends, checks or grades, and has no counterpart"
                builder.left_out(("options", key), f"option `{key}`", why)
