"""What the tests of all pages look with, and look for."""

from __future__ import annotations

from html.parser import HTMLParser

EVIL = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "<svg onload=window.pwned=1><a href='javascript:window.pwned=1'>x</a>"
    "\"'><iframe src=http://127.0.0.1:9/></iframe><!--<script>{{ 7*7 }}${7*7}\u202egnp.exe\x1b[31m\ud800\x00"
)
"""Text that would act if it were ever taken for anything but text."""

INTRUSION = """
const box = document.createElement('div');
box.innerHTML = '<img src=http://127.0.0.1:9/x onerror=window.pwned=1>';
document.body.append(box);
const made = document.createElement('script'); made.textContent = 'window.pwned=1';
document.body.append(made)
"""
"""A script that puts in what acts unless the page's policy stops it."""

CONTRAST = """
const parts = c => c.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
function ground(e) {
  for (; e; e = e.parentElement) {
    const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c;
  }
  return [255, 255, 255];
}
const bad = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || !e.checkVisibility() || e.closest('svg, .for-readers, script, style')) continue;
  const [a, b] = [light(parts(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
  if ((a + .05) / (b + .05) < 4.5) bad.push(e.className + ' ' + e.textContent.slice(0, 40));
}
return bad;
"""
"""A script that gives every text with less than WCAG's contrast of 4.5."""


class Parsed(HTMLParser):
    """The tags of a page with their attributes, and the texts of its script and style elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in self.texts:
            self.texts[self.cdata_elem][-1] += data
