// Searching: counts the hits in all trials that are shown, marks them, and goes from one to the next.
// Nothing is put into the page for a hit: the browser is given the ranges to paint.
const search = (() => {
  const {number, pattern, asHtml, fromHtml} = parts;
  const box = document.querySelector(".hits");
  const output = document.getElementById("hits");
  // Words of the page itself, which aren't hits. They have no element inside.
  const LABELS = /<(\w+)(?: [^>]*)? data-label(?: [^>]*)?>[^<]*<\/\1>/g;
  const paint = window.CSS && CSS.highlights && window.Highlight ? CSS.highlights : null;
  const pieces = new WeakMap(); // by trial: the texts in it, as they come
  let found = []; // [trial, number of hits] for each trial with some
  let words = "";
  let within = []; // the trials that were looked at
  let at = -1;
  let current = null; // the range of the hit that was gone to

  // The texts of a trial: those of its line, and those of what it unfolds to.
  function textsOf(trial) {
    if (!pieces.has(trial)) {
      const html = trials.source(trial);
      const inside = html ? html.replace(LABELS, "<>").split(/<[^>]*>/).map(fromHtml) : groups(roots(trial)[1]).map(joined);
      pieces.set(trial, [...groups(roots(trial)[0]).map(joined), ...inside]);
    }
    return pieces.get(trial);
  }

  function roots(trial) {
    return [Array.from(trial.querySelectorAll("summary strong, summary .meta")), [trial.querySelector(".body")]];
  }

  // Texts as lists of nodes: a quote that is marked divides one text into several nodes.
  function groups(elements) {
    const list = [];
    for (const element of elements) {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node; (node = walker.nextNode()); ) {
        if (node.parentElement.closest("[data-label], noscript, svg")) continue;
        const before = list.length ? list[list.length - 1] : null;
        if (before && continues(before[before.length - 1], node)) before.push(node);
        else list.push([node]);
      }
    }
    return list;
  }

  function continues(before, node) {
    const holder = (one) => (inMark(one) ? one.parentElement : one);
    return (inMark(before) || inMark(node)) && holder(before).nextSibling === holder(node);
  }

  function inMark(node) {
    return node.parentElement.matches("mark");
  }

  function joined(nodes) {
    return nodes.map((node) => node.data).join("");
  }

  // ---- ranges, for what is unfolded

  function rangesOf(trial) {
    const wanted = pattern(words, "gi");
    return roots(trial).flatMap(groups).flatMap((nodes) =>
      Array.from(joined(nodes).matchAll(wanted), (hit) => range(nodes, hit.index, hit.index + hit[0].length)));
  }

  function range(nodes, start, end) {
    const made = document.createRange();
    made.setStart(...place(nodes, start));
    made.setEnd(...place(nodes, end));
    return made;
  }

  function place(nodes, offset) {
    const last = nodes[nodes.length - 1];
    for (const node of nodes) {
      if (offset <= node.length) return [node, offset];
      offset -= node.length;
    }
    return [last, last.length];
  }

  function repaint() {
    if (!paint) return;
    const open = words ? found.map(([trial]) => trial).filter((trial) => trial.open) : [];
    paint.set("hit", new Highlight(...open.flatMap(rangesOf)));
    if (current) paint.set("current-hit", Object.assign(new Highlight(current), {priority: 1}));
    else paint.delete("current-hit");
  }

  // ---- the search

  // Look for these words in these trials. The same again changes nothing: the reader may be at a hit.
  function look(text, shown) {
    if (text === words && shown.length === within.length && shown.every((trial, place) => trial === within[place])) return;
    words = text;
    within = shown;
    at = -1;
    const maybe = pattern(asHtml(words));
    const wanted = pattern(words, "gi");
    current = null;
    found = [];
    for (const trial of words ? shown : []) {
      const html = trials.source(trial);
      const skip = html && !pieces.has(trial) && !maybe.test(html) && !pattern(words).test(lineOf(trial));
      const hits = skip ? 0 : textsOf(trial).reduce((sum, piece) => sum + (piece.match(wanted) || []).length, 0);
      if (hits) found.push([trial, hits]);
    }
    box.hidden = !words;
    say();
    repaint();
  }

  function lineOf(trial) {
    return roots(trial)[0].map((element) => element.textContent).join("\n");
  }

  function total() {
    return found.reduce((sum, [, hits]) => sum + hits, 0);
  }

  function say() {
    const all = total();
    const hits = number(all) + (all === 1 ? " hit" : " hits");
    output.textContent = at < 0 ? hits : number(at + 1) + " of " + number(all);
  }

  // To the next hit, or with -1 to the one before.
  function step(way) {
    const all = total();
    if (!all) return false;
    at = at < 0 ? (way > 0 ? 0 : all - 1) : (at + way + all) % all;
    let left = at;
    const [trial] = found.find(([, hits]) => left < hits || ((left -= hits), false));
    trials.open(trial);
    const ranges = rangesOf(trial);
    const hit = ranges[Math.min(left, ranges.length - 1)];
    say();
    if (hit) show(hit);
    return true;
  }

  function show(hit) {
    const element = hit.startContainer.parentElement;
    trials.reveal(element);
    current = hit;
    repaint();
    if (!paint) getSelection().setBaseAndExtent(hit.startContainer, hit.startOffset, hit.endContainer, hit.endOffset);
    element.scrollIntoView({block: "center"});
    const box = hit.getBoundingClientRect();
    if (box.top < 80 || box.bottom > innerHeight) scrollBy(0, box.top - innerHeight / 2);
  }

  // Go by the keys of an input and by the buttons. lookNow() looks for what was typed a moment ago.
  function listen(input, lookNow) {
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      if (input.value.trim() !== words) lookNow();
      step(event.shiftKey ? -1 : 1);
    });
    document.getElementById("next-hit").addEventListener("click", () => step(1));
    document.getElementById("previous-hit").addEventListener("click", () => step(-1));
    parts.onKey("n", () => step(1));
    parts.onKey("p", () => step(-1));
  }

  trials.filled.push((trial) => pieces.delete(trial));
  return {look, listen, repaint, matches: (trial) => found.some(([one]) => one === trial)};
})();
