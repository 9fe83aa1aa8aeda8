"""Where the other pages are, for a page that is part of a site.

A page in one file stands alone and has no such links. A server that shows stored runs gives `html_chunks` and
`comparison_chunks` the addresses under which it has them; the pages are the same otherwise. What is inside of
a page is found by its anchors (see `anchors`), which are the same in each run: `address + "#" + anchor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class SiteLinks:
    """Addresses of other pages; what is empty is not linked.

    `home` has the list of runs, `trends` the scenarios over their runs, and `conversation` one trial (`{run}`
    and `{anchor}`). In `run`, `{run}` stands for the id of a run; in `comparison`, `{base}` and
    `{head}` for those of two.
    """

    home: str = ""
    run: str = ""
    comparison: str = ""
    trends: str = ""
    conversation: str = ""

    def conversation_of(self, run: str, anchor: str) -> str:
        """The address of the page with one trial of a run; empty without one."""
        return self.conversation.replace("{run}", quote(run, safe="")).replace("{anchor}", anchor)

    def run_of(self, run: str) -> str:
        """The address of a run's page; empty without one."""
        return self.run.replace("{run}", quote(run, safe=""))

    def comparison_of(self, base: str, head: str) -> str:
        """The address of the page that compares two runs; empty without one."""
        return self.comparison.replace("{base}", quote(base, safe="")).replace("{head}", quote(head, safe=""))


STANDS_ALONE = SiteLinks()
