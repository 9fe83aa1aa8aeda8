"""Rules on the wording of single criteria. They read English words, and leave other languages alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..conversation.suspicion import is_english
from .deeds import two_deeds
from .finding import Fault
from .subject import Sentence, Subject
from .words import PEOPLE, words_of

_VAGUE = frozenset(
    """
    good great nice fine helpful useful professional professionally appropriate appropriately proper properly
    adequate adequately reasonable reasonably satisfactory satisfactorily correct correctly well right
    acceptable suitable suitably effective effectively efficient efficiently natural naturally quality high
    excellent relevant meaningful sensible sensibly expected smoothly accurate accurately competent friendly
    """.split()
)
_LOOSE_DEED = re.compile(
    r"\b(?:handles?|deals?\s+with|manages?|treats?|address(?:es)?|reacts?\s+to|responds?\s+to)\b.*"
    r"\b(?P<loose>properly|appropriately|adequately|correctly|well|reasonably|professionally|satisfactorily)\b",
    re.IGNORECASE,
)
_FILLERS = frozenset(
    """
    the a an is are be being was it its in with for to of and or as at on very always all way manner this that
    should must shall does do will has have keeps stays remains
    agent assistant bot chatbot ai model system user user's users customer customer's customers client
    handle handles handled respond responds response responses reply replies answer answers behave behaves
    behaviour behavior act acts perform performs work works job task request requests question questions
    query issue issues problem problems situation conversation talk message messages conduct everything
    provides gives offers provide give offer service help assistance support information
    tone style manners overall experience result results outcome completely fully
    goes go went feels feel seems seem looks look runs run
    """.split()
)

_USERS_DEED = re.compile(
    rf"^\s*(?:(?:the|a)\s+)?(?:simulated\s+|synthetic\s+)?(?:{PEOPLE})\s+"
    r"(?:(?:then|never|always|finally|must|should|will|has|does|not|doesn't)\s+)*"
    r"(?:say|ask|tell|confirm|give|provide|agree|accept|thank|want|leave|end|understand|know|like|feel|name|answer"
    r"|repeat|refuse|insist|complain|mention|respond|state|request|explain|share|seem|appear|remain)(?:s|ed|es)?\b"
    rf"|^\s*(?:(?:the|a)\s+)?(?:{PEOPLE})\s+(?:is|was|seems|feels|remains|leaves|ends\s+up)\s+(?:\w+ly\s+)?"
    r"(?:happy|satisfied|pleased|glad|content|grateful|angry|confused|polite|rude|impatient|frustrated)\b",
    re.IGNORECASE,
)


def compound(subject: Subject) -> Iterator[Fault]:
    """Two deeds in one criterion: when one is missing, the judge has to choose."""
    for sentence in _english(subject):
        found = two_deeds(sentence.text)
        if found:
            one, other = found
            yield Fault(
                sentence.loc,
                f"{sentence.criterion.id} asks two things in one: `{one}` and `{other}`",
                "Write a criterion for each: with one of them done, a judge may say either word.",
            )


def vague(subject: Subject) -> Iterator[Fault]:
    """A criterion that names nothing which can be seen."""
    for sentence in subject.sentences:
        # English or not: no word may be left but those of the lists.
        words = words_of(sentence.text)
        loose = [word for word in words if word in _VAGUE]
        deed = _LOOSE_DEED.search(sentence.text)
        if deed or (loose and all(word in _VAGUE | _FILLERS for word in words)):
            word = deed["loose"] if deed else loose[0]
            yield Fault(
                sentence.loc,
                f"{sentence.criterion.id} is vague: `{word}` names nothing that a judge can look for",
                "Say what the agent says or does, so that a quote can show it.",
            )


def about_user(subject: Subject) -> Iterator[Fault]:
    """A criterion that the synthetic user meets or breaks, whatever the agent does."""
    for sentence in _english(subject):
        if sentence.criterion.about is None and _USERS_DEED.search(sentence.text):
            yield Fault(
                sentence.loc,
                f"{sentence.criterion.id} is about the user, whom the agent doesn't control",
                "Say what the agent does. If it is meant, write `{text: …, about: user}`.",
            )


def _english(subject: Subject) -> Iterator[Sentence]:
    return (one for one in subject.sentences if is_english(one.text))
