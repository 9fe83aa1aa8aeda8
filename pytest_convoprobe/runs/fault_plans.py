"""What goes wrong in one conversation, in calls of tools and in the agent's own calls of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..faults.model_plan import ModelFaultPlan, refuse_faults_of_models
from ..faults.plan import FaultPlan, require_delays_fit
from ..faults.rules import FaultRule, of_models, of_tools
from ..gateway.port import WireFaults
from ..gateway.wire_faults import PlannedFaults
from ..settings.models import ScenarioSettings
from ..transcript import Transcript


@dataclass(frozen=True)
class FaultPlans:
    """The plans of a conversation's faults; None where there are none."""

    tools: FaultPlan | None = None
    models: ModelFaultPlan | None = None

    @classmethod
    def of(
        cls, rules: Sequence[FaultRule], settings: ScenarioSettings, scenario: str, trial: int
    ) -> FaultPlans:
        """Raises `ScenarioError` for faults that can't happen with these settings."""
        require_delays_fit(rules, settings.run.turn_timeout)
        if settings.models is None:
            refuse_faults_of_models(rules)
        tools, models = tuple(of_tools(rules)), tuple(of_models(rules))
        return cls(
            FaultPlan(tools, scenario, trial) if tools else None,
            ModelFaultPlan(models, scenario, trial) if models else None,
        )

    @property
    def on_the_wire(self) -> WireFaults | None:
        """Those of models, for the gateway."""
        return None if self.models is None else PlannedFaults(self.models)

    def marked(self, transcript: Transcript) -> Transcript:
        """The transcript with the faults that its calls of tools had."""
        return transcript if self.tools is None else self.tools.marked(transcript)

    def require_reached(self) -> None:
        """Raise `ScenarioError` if one of the faults never happened: nothing was tested then."""
        for plan in (self.tools, self.models):
            if plan is not None:
                plan.require_reached()
