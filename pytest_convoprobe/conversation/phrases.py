"""The patterns that the guard looks for, and the words of a farewell.

Sentence patterns are matched from the start of a sentence, without regard to case, after a
greeting or a word of assent if there is one. Most of them go to the sentence's end, which
distinguishes "How can I help you?" from "How can I help you find my order?".
"""

from __future__ import annotations

import re

_GREETING = (
    "(?:(?:hi|hello|hey|welcome|good (?:morning|afternoon|evening)|sure|of course|certainly|absolutely"
    r"|great|okay|ok|thanks|thank you)\b(?: there| again| back)?[,!]? +)*"
)
_WITH_YOURS = r"(?: with (?:that|your [\w' -]+))?"
_TODAY = "(?:,? (?:today|now|further|right now|at this time))?"
_CLOSE = rf"{_TODAY} *[.!?…]*$"
_MORE_HELP = "(?:any )?(?:further|more|other|additional) (?:help|assistance)"
_ASK = "(?:let me know|(?:feel free|don't hesitate) to (?:ask|reach out))"
_ORDER = "your (?:order number|booking reference|reservation number)"
_HAND_OVER = "(?:give|tell|send|provide)(?: me)?(?: with)?"
_MODEL = "(?:ai|(?:large )?language model|ai (?:language )?model|ai assistant)"
_OFFICE = "(?:virtual|ai|digital|personal|customer (?:support|service))"

_ASSISTANT = (
    f"(?:so,? )?how (?:can|may|could|might) i (?:best )?(?:help|assist|support) you{_WITH_YOURS}{_CLOSE}",
    f"how (?:can|may) i (?:help|assist) today{_CLOSE}",
    f"how (?:can|may) i be of (?:help|assistance|service)(?: to you)?{_CLOSE}",
    f"what (?:can|may) i (?:do for you|(?:help|assist) you with){_CLOSE}",
    "(?:is there )?anything else (?:that )?i (?:can|could|may) "
    f"(?:(?:help|assist)(?: you)? with|do for you){_CLOSE}",
    f"(?:i'm|i am) here to (?:help|assist)(?: you)?{_WITH_YOURS}{_CLOSE}",
    f"(?:i'd|i would|i'll|i will) be (?:happy|glad|delighted) to (?:help|assist) you{_WITH_YOURS}{_CLOSE}",
    f"(?:(?:please )?{_ASK} )?if you (?:need|require) {_MORE_HELP}(?:,? (?:please )?{_ASK})?{_CLOSE}",
    r"thank(?:s| you) for (?:contacting|calling|choosing|reaching out to) (?:us|our)\b",
    f"(?:could|can|would) you (?:please )?{_HAND_OVER} {_ORDER}{_CLOSE}",
    f"(?:can|could|may) i (?:please )?have {_ORDER}{_CLOSE}",
    f"please {_HAND_OVER} {_ORDER}{_CLOSE}",
    rf"as an? {_MODEL}\b,? i(?:'m| am)? "
    r"(?:cannot|can't|can not|don't|do not|am|not|unable|designed|programmed|trained|here)\b",
    f"(?:i'm|i am) (?:just |only )?an? {_MODEL}"
    "(?:,| and| so| who| that| here| designed| trained| created|[.!]|$)",
    rf"(?:i'm|i am) your {_OFFICE} (?:assistant|agent)\b",
)

_SIMULATION = (
    "(?:so,? |hmm,? |now,? )*(?:i|we) (?:should|must|need to|have to|will) (?:now )?"
    r"(?:respond|reply|answer|act|write|speak) as (?:the|a|this) (?:\w+ )?(?:user|customer|person|persona)\b",
    r"(?:i'm|i am) (?:only |just )?(?:the|a) (?:simulated|synthetic) (?:user|customer|person)\b",
)


def _lines(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"{_GREETING}(?:{'|'.join(patterns)})", re.IGNORECASE)


ASSISTANT_LINE = _lines(_ASSISTANT)
"""A sentence that only the assistant says."""

SIMULATION_LINE = _lines(_SIMULATION)
"""A sentence that only someone who plays a user says."""

OWN_JSON = re.compile(
    r'"message"\s*:.*"status"\s*:\s*"(?:continue|done|gave_up)"'
    r'|\A\s*\{\s*"message"\s*:.*\}\s*\Z'
    r"|\A\W*status\W{1,4}(?:continue|done|gave_up)\W*\Z",
    re.DOTALL,
)
"""The JSON that the simulating model answers in."""

OWN_TAG = re.compile("</?reply>", re.IGNORECASE)
"""The tag in which the simulating model gets what the assistant says."""

THOUGHTS = re.compile(
    r"</?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|inner_monologue)\b[^<>]*>"
    r"|<\|[a-z_]+\|>"
    r"|^[ \t]*[#*_]*(?:thought|thinking|reasoning|chain of thought|internal monologue)[*_]*:",
    re.IGNORECASE | re.MULTILINE,
)
"""Thinking, in the tags or behind the labels that models use for it."""

LABEL_IN_FRONT = re.compile(r"\A[*_#]*(?:user|human|synthetic user)[*_]*:[*_]*(?:\s+\S+){3}", re.IGNORECASE)
"""A label for the speaker and a message behind it; "User: jdoe" alone is an answer."""

ASSISTANT_LABEL = re.compile(r"^[ \t]*[*_#]*assistant[*_]*:", re.IGNORECASE | re.MULTILINE)

# The number of spaces is bounded, so that a text of nothing but spaces takes no quadratic time.
END_SIGN = re.compile(
    r"#{2,5} ?(?:STOP|DONE|END) ?##"
    r"|(?<![\[<{])[\[<{]+/?(?:STOP|DONE|END|EXIT|GAVE[_ ]UP|END[_ ]OF[_ ]CONVERSATION)[ /]*[\]>}]+\s*\Z"
    r"|<(?:stop|done|end|gave_up) ?/?>\s*\Z"
    r"|(?:\A|(?<=[.!?…])\s*|\n\s{0,9})(?:DONE|GAVE[_ ]UP|gave_up|TERMINATE|END_OF_CONVERSATION)\s*\Z"
    r"|(?:(?<=[.!?…])\s*|\n\s{0,9})STOP\s*\Z"
    r"|[\[(]status: ?(?:continue|done|gave_up)[\])]\s*\Z"
)
"""A marker for the end of the talk within the text, alone or right after the last sentence."""

LEAVING = re.compile(
    r"\b(?:bye|goodbye|good bye|see (?:you|ya)|take care|you too"
    r"|(?:have a )?(?:nice|good|great|lovely|wonderful) (?:day|evening|night|weekend|one))\b",
    re.IGNORECASE,
)
"""The words of someone who leaves."""

FAREWELL_WORDS = frozenset(
    "thanks thank you thx cheers so much very a lot again then ok okay great perfect all right alright good "
    "bye goodbye see ya take care too to and have nice lovely wonderful day evening night weekend one time "
    "later soon for your the help well as it".split()
)
"""What a message that is a farewell and nothing else is made of."""
