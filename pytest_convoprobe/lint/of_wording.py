"""Rules on the wording of single criteria. They read English words, and leave other languages alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..conversation.suspicion import is_english
from .finding import Fault
from .subject import Sentence, Subject
from .words import PEOPLE, words_of

_DEEDS = (
    "ask say tell confirm offer explain give name call check cancel book refund apologise apologize inform "
    "provide state mention show list send suggest recommend refuse decline reject greet thank propose verify "
    "request quote describe warn remind repeat summarise summarize transfer escalate schedule update create "
    "delete look use answer reply respond promise invent reveal claim point direct link correct acknowledge"
).split()
_ENDINGS = {"deny": "denies", "notify": "notifies", "identify": "identifies", "clarify": "clarifies"}


def _third_person(verb: str) -> str:
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x")) else f"{verb}s"


_FINITE = "|".join([*map(_third_person, _DEEDS), *_ENDINGS.values()])
_BARE = "|".join([*_DEEDS, *_ENDINGS])
_LINK = r"(?:,?\s+and(?:\s+(?:then|also|finally))?|,?\s+as\s+well\s+as|;|,\s*then)\s+"
_COMPOUND = re.compile(rf"\b(?P<one>{_FINITE})\b.*?{_LINK}(?P<other>{_FINITE})\b", re.IGNORECASE)
_COMPOUND_BARE = re.compile(
    rf"\b(?:should|must|shall|will|not|never|n't)\s+(?P<one>{_BARE})\b.*?{_LINK}(?P<other>{_BARE})\b(?!\s+(?:of|from)\b)",
    re.IGNORECASE,
)

_VAGUE = frozenset(
    """
    good great nice fine helpful useful professional professionally appropriate appropriately proper properly
    adequate adequately reasonable reasonably satisfactory satisfactorily correct correctly well right
    acceptable suitable suitably effective effectively efficient efficiently natural naturally quality high
    excellent relevant meaningful sensible sensibly expected smoothly accurate accurately competent friendly
    """.split()
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
    """.split()
)

_TWO_FACTS = re.compile(
    rf"\b(?P<one>{_FINITE}|{_BARE})\b[^.;]*?\bthat\b[^.;]+?,?\s(?:and|as\s+well\s+as)\s+(?P<other>that)\b",
    re.IGNORECASE,
)
_TWO_SENTENCES = re.compile(
    rf"\b(?P<one>{_FINITE})\b[^.;]*[.;]\s+(?:then\s+)?(?:(?:the\s+\w+|it|then)\s+)+(?:\w+\s+)?(?P<other>{_FINITE})\b",
    re.IGNORECASE,
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


_COMPOUNDS = (_COMPOUND, _COMPOUND_BARE, _TWO_FACTS, _TWO_SENTENCES)


def compound(subject: Subject) -> Iterator[Fault]:
    """Two deeds in one criterion: when one is missing, the judge has to choose."""
    for sentence in _english(subject):
        found = next(filter(None, (form.search(sentence.text) for form in _COMPOUNDS)), None)
        if found:
            one, other = found["one"].lower(), found["other"].lower()
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
        if loose and all(word in _VAGUE | _FILLERS for word in words):
            yield Fault(
                sentence.loc,
                f"{sentence.criterion.id} is vague: `{loose[0]}` names nothing that a judge can look for",
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
