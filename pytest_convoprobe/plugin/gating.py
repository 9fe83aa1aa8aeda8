"""What decides each scenario of a session: the policy, by what is known before it runs, and its terms.

Every worker of xdist works this out for itself, from the collected items and the same files. So it is the
same in all of them, and a decision doesn't depend on how many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from ..errors import SettingsError
from ..formatting import counted
from ..gate.choosing import Chosen, choose
from ..gate.forecast import with_second_looks
from ..gate.policies import Confirm, Each, Paired
from ..gate.prior import Prior, prior_of
from ..gate.types import Past, Policy
from ..results.provenance import commit_of
from . import options
from .lookahead import set_up_for_each
from .orders import GATED, Order, has_mark, order_of
from .session import backend_of, began, early_settings, session_of, settings_for
from .storing import run_id

if TYPE_CHECKING:
    from ..results.fingerprints import Prints
    from ..results.pasts import FoundPast, Pasts
    from ..runs.gated_scenario import Terms
    from ..settings.gate_settings import GateSettings, PolicyName
    from ..settings.models import Settings

_GATE: pytest.StashKey[SessionGate] = pytest.StashKey()
NO_PAST = "nothing is known of it from before; decided by confirm"
ONE_OBJECT = (
    "the fixture gives a single object, which can take part in one only; give a class, or a function that "
    "makes one"
)


def chosen(config: pytest.Config, file: str) -> Chosen:
    """What decides the scenarios of a file: `each` makes an item for each trial, the others one item."""
    try:
        settings = early_settings(config).of(file).settings
    except SettingsError:
        return "each"  # there is a better place to report it than the collection of one file
    return choose(
        _policy_of(config, settings.gate),
        has_baseline=_has_baseline(config, file),
        only_recordings=settings.run.replay == "only",
        trials_asked=options.are_trials_asked(config) or options.compares_raw(config),
    )


def _policy_of(config: pytest.Config, gate: GateSettings) -> PolicyName:
    # The command line comes before settings files, also where it asks for trials.
    return "each" if options.are_trials_on_command_line(config) else gate.policy


def _has_baseline(config: pytest.Config, file: str) -> bool:
    if options.value_of(config, "baseline") is not None:
        return True
    from ..files import relative_name
    from ..results.baseline_file import file_for

    return file_for(config.rootpath, relative_name(file, config.rootpath)) is not None


def gate_of(item: pytest.Item) -> SessionGate:
    """The session's gate. Raises `ResultsError` and `SettingsError`."""
    if _GATE not in item.config.stash:
        item.config.stash[_GATE] = SessionGate(item.config, item.session.items)
    return item.config.stash[_GATE]


def first_orders(order: Order) -> list[Order]:
    """The trials that an item has in any case, before anything is decided."""
    if GATED not in order.item.stash:
        return [order]
    first = gate_of(order.item).terms(order).policy.first
    return [replace(order, trial=trial) for trial in range(1, first + 1)]


class SessionGate:
    """The terms of all scenarios that the session selected and that a policy decides."""

    def __init__(self, config: pytest.Config, items: Iterable[pytest.Item]) -> None:
        self._config = config
        found = [(order, item.stash[GATED]) for item in items if (order := _gated(item))]
        self._policies = {order.scenario_id: policy for order, policy in found}
        self._orders = {order.scenario_id: order for order, _ in found}
        self._settings = session_of(config).settings.settings.gate

    def terms(self, order: Order, prints: Prints | None = None) -> Terms:
        """What decides a scenario. `prints` are the fingerprints of its first conversation, where stored.

        They differ from those of the settings where a hook of the project has changed these.
        """
        expected = self._expected[order.scenario_id]
        if prints is None or self._policies[order.scenario_id] != "paired":
            return expected
        return self._terms(order, self._pasts.find(order.scenario_id, prints), expected.policy.first)

    def check(self) -> None:
        """Raise `ResultsError` for a baseline that can't be used, before anything is spent."""
        _ = self._expected

    def forecast(self) -> tuple[int, int]:
        """How many conversations there are first, and how many more there may be."""
        every = self._expected.values()
        first = sum(terms.policy.first for terms in every)
        return first, sum(terms.most - terms.policy.first for terms in every)

    @cached_property
    def _expected(self) -> dict[str, Terms]:
        """The terms of each scenario, by what is known before any conversation."""
        found = {name: self._terms_of_policy(order) for name, order in self._orders.items()}
        return {**found, **self._looked_at_twice(found)}

    def _looked_at_twice(self, found: Mapping[str, Terms]) -> dict[str, Terms]:
        """The scenarios that get a second look, whatever the first conversation says.

        They depend on the commit and on the pasts only: so all workers choose the same, and whoever runs the
        gate again on one commit gets the same decisions.
        """
        if self._settings.first > 1 or self._settings.max_talks is not None:
            return {}
        policies = {
            name: one.policy
            for name, one in found.items()
            if isinstance(one.policy, Paired) and one.policy.first == 1 and one.more is None
        }
        commit = commit_of("HEAD", self._config.rootpath) or ""
        chosen = with_second_looks(policies, commit, self._settings.per_scenario)
        return {name: replace(found[name], policy=policy) for name, policy in chosen.items()}

    def _terms_of_policy(self, order: Order) -> Terms:
        if self._policies[order.scenario_id] != "paired":
            return self._terms(order, None, 1)
        gate = self._settings_of(order).gate
        own = order.loaded.scenario.gate if order.loaded.scenario else None
        first = own.first if own and own.first else gate.first
        return self._terms(order, self._past(order.scenario_id), min(first, gate.most))

    def _terms(self, order: Order, found: FoundPast | None, first: int) -> Terms:
        """The terms by what was found of the past; None where nobody asked for it."""
        from ..runs.gated_scenario import Terms

        mode, said = mode_of_order(order)
        note = "" if found is None else found.note or ("" if found.past else NO_PAST)
        notes = tuple(filter(None, (said, note)))
        past, more = (found.past if found else None), self._share(order.scenario_id)
        terms = Terms(self._policy(order, past, first), past, more, mode, notes)
        if found is not None and not found.may_block:
            # One that mostly failed before is looked at, and nothing more is spent on it. So is one whose
            # change somebody accepted just now.
            terms = replace(terms, mode=_weaker(mode), more=0)
        if fixtures := set_up_for_each(order.item):
            # A second conversation would meet what the first one left: these fixtures are made for the item.
            return one_talk_terms(terms, f"what has function scope is made once ({', '.join(fixtures)})")
        return terms

    def _policy(self, order: Order, past: Past | None, first: int) -> Policy:
        if past is None:
            return Confirm(min(first, Confirm().most))
        alpha, most = self._settings.alpha, self._settings_of(order).gate.most
        return Paired(past, self._prior, len(self._orders), alpha, first, most)

    def _settings_of(self, order: Order) -> Settings:
        return settings_for(order).settings

    @cached_property
    def _pasts(self) -> Pasts:
        from ..results.pasts import pasts_of

        named = options.value_of(self._config, "baseline")
        folder = self._config.rootpath / session_of(self._config).settings.settings.results.dir
        return pasts_of(self._config.rootpath, folder, named, before=run_id(self._config))

    @cached_property
    def _prior(self) -> Prior:
        """Of the whole suite, in the order of the ids: sums of floats depend on it."""
        names = (name for name in sorted(self._orders) if self._policies[name] == "paired")
        return prior_of(past for name in names if (past := self._past(name).past) is not None)

    def _past(self, scenario_id: str) -> FoundPast:
        return self._pasts.find(scenario_id, self._prints(self._orders[scenario_id]))

    def _prints(self, order: Order) -> Prints:
        from ..redaction import Redactor
        from ..results.fingerprints import take_prints
        from ..targets.port import Description

        loaded, scenario = settings_for(order), order.loaded.scenario
        assert scenario is not None  # noqa: S101 - a skipped scenario has no gate
        settings = backend_of(self._config).scenario_settings(loaded, scenario)
        return take_prints(scenario, settings, Description(), Redactor(loaded.secrets))

    def _share(self, scenario_id: str) -> int | None:
        """The conversations that a scenario may add: its own share, so that no other's need can change it."""
        budget = self._settings.max_talks
        if budget is None:
            return None
        each, rest = divmod(budget, len(self._orders))
        return each + (sorted(self._orders).index(scenario_id) < rest)


def forecast(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """How many conversations the gate may add, in a line; none where nothing runs or nothing is added."""
    gated = list(gated_items(items))
    if not gated or config.option.collectonly or config.getoption("setuponly", False):
        return []
    policies = sorted({item.stash[GATED] for item in gated}, reverse=True)
    return [
        forecast_words(" and ".join(policies), *gate_of(gated[0]).forecast()),
        *_unused_trials(config, policies),
    ]


def _unused_trials(config: pytest.Config, policies: Iterable[str]) -> list[str]:
    """That the ini file asks for trials, and a policy that was asked for makes one item of a scenario.

    It isn't an error: a run may ask for another policy than the one that the ini file was written for.
    """
    trials = options.trials(config)
    if trials == 1:
        return []
    gate = " and ".join(sorted(policies, reverse=True))
    return [
        f"note: convoprobe_trials = {trials} is not used: the gate is {gate}, which decides about all "
        "conversations of a scenario together; how many it begins with is gate.first"
    ]


def forecast_words(policy: str, first: int, more: int) -> str:
    """`gate (paired): 20 conversations, and at most 380 more`."""
    added = f"at most {more:,} more" if more else "none more"
    return f"gate ({policy}): {counted(first, 'conversation')}, and {added}"


def forecast_of_ids(config: pytest.Config, ids: Iterable[str]) -> list[str]:
    """The same from node ids, for xdist's controller: it has no items, so it counts with the worst case."""
    counts = Counter(nodeid.partition("::")[0] for nodeid in ids)
    policies, first, more = set(), 0, 0
    for name, count in counts.items():
        file = str(config.rootpath / name)
        policy = chosen(config, file)
        if policy != "each":
            gate = early_settings(config).of(file).settings.gate
            begin, most = (gate.first, gate.most) if policy == "paired" else (1, Confirm().most)
            policies.add(policy)
            first, more = first + count * begin, more + count * max(0, most - begin)
    if not policies:
        return []
    budget = early_settings(config).main.settings.gate.max_talks
    bounded = more if budget is None else min(more, budget)
    words = forecast_words(" and ".join(sorted(policies, reverse=True)), first, bounded)
    return [words, *_unused_trials(config, policies)]


def one_talk_terms(terms: Terms, why: str) -> Terms:
    """The terms where no second conversation can be had: the first one decides, as without a gate."""
    note = f"decided by one conversation: {why}"
    return replace(terms, policy=Each(), past=None, more=0, notes=(*terms.notes, note))


def _gated(item: pytest.Item) -> Order | None:
    """The order of an item that a policy decides, and that isn't skipped for certain."""
    return order_of(item) if GATED in item.stash and not has_mark(item, "skip") else None


def gated_items(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The items that a policy decides."""
    return (item for item in items if _gated(item))


def mode_of_order(order: Order) -> tuple[str, str]:
    """Whether a scenario may make the run fail (`block`), and a sentence about it where there is one."""
    from ..scenario.gate_rule import mode_of

    rule = order.loaded.scenario.gate if order.loaded.scenario else None
    # The day on which the session began, so that midnight is the same for all workers.
    return mode_of(rule, datetime.fromtimestamp(began(order.item.config)).date())


def _weaker(mode: str) -> str:
    return "report" if mode == "block" else mode
