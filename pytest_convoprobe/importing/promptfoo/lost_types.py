"""Types of promptfoo's assertions that nothing here checks, with the reason and what to do."""

from __future__ import annotations

from ..building import OWN_CHECK

_CODE = "its code isn't run here"
_RETRIEVAL = "a metric about retrieval, and what was retrieved isn't known here"
_TRACE = "it looks at spans of a trace"
_FORM = "there is no check of this form"
_CRITERION = "say in a criterion what must not be in the answer"
_SCORE = "a score of a model or a service with a threshold"

LOST: dict[str, tuple[str, ...]] = {
    "javascript": (_CODE, OWN_CHECK),
    "python": (_CODE, OWN_CHECK),
    "ruby": (_CODE, OWN_CHECK),
    "webhook": ("nothing is sent to it", OWN_CHECK),
    "cost": ("there is no limit of costs for one scenario", "limit those of a run: `run.max_cost`"),
    "perplexity": ("how likely the model's tokens are isn't known",),
    "perplexity-score": ("how likely the model's tokens are isn't known",),
    "classifier": (_SCORE, _CRITERION),
    "moderation": (_SCORE, _CRITERION),
    "guardrails": ("what the provider's guardrails say isn't known", _CRITERION),
    "pi": (_SCORE, "write it as a criterion"),
    "context-faithfulness": (_RETRIEVAL,),
    "context-recall": (_RETRIEVAL,),
    "context-relevance": (_RETRIEVAL,),
    "citation-faithfulness": (_RETRIEVAL,),
    "noise-sensitivity": (_RETRIEVAL,),
    "trace-span-count": (_TRACE,),
    "trace-span-duration": (_TRACE,),
    "trace-error-spans": (_TRACE,),
    "trajectory:step-count": (_TRACE, "limit calls of tools: `efficiency.max_tool_calls`"),
    "skill-used": ("skills of an agent aren't known",),
    "finish-reason": ("why the model stopped isn't known",),
    "is-sql": (_FORM, OWN_CHECK),
    "contains-sql": (_FORM, OWN_CHECK),
    "is-xml": (_FORM, OWN_CHECK),
    "contains-xml": (_FORM, OWN_CHECK),
    "is-html": (_FORM, OWN_CHECK),
    "contains-html": (_FORM, OWN_CHECK),
    "contains-json": ("only whole answers are read as JSON", OWN_CHECK),
    "is-valid-function-call": (
        "calls aren't compared with the tools' schemas",
        "review them: `convoprobe tools`",
    ),
    "is-valid-openai-function-call": (
        "calls aren't compared with the tools' schemas",
        "review them: `convoprobe tools`",
    ),
    "is-valid-openai-tools-call": (
        "calls aren't compared with the tools' schemas",
        "review them: `convoprobe tools`",
    ),
    "select-best": ("it compares several outputs with one another", "run with several targets, and compare"),
    "max-score": ("it compares several outputs with one another", "run with several targets, and compare"),
    "human": ("a person decided it", "label conversations: `convoprobe label`"),
    "video-rubric": ("videos aren't judged here",),
}
