// Trials: unfolding them, going to a place in one, and from evidence to evidence.
const trials = (() => {
  const {make, button, elementsOf} = parts;
  const all = Array.from(document.querySelectorAll(".trial"));
  const filled = []; // what is to be called with each trial that is unfolded for the first time
  const openedHere = new WeakSet(); // by this script, not by the reader

  // What a trial has to say is kept as text until it is unfolded.
  function fill(trial) {
    const body = trial.querySelector(".body");
    const source = body.querySelector(":scope > noscript");
    if (source) {
      body.replaceChildren(...elementsOf(source.textContent));
      equip(trial);
      for (const act of filled) act(trial);
    } else if (!body.childElementCount) {
      body.append(make("p", "This file is cut off: what was said is not in it."));
    }
  }

  // The text of a trial as HTML; empty once it is unfolded.
  function source(trial) {
    const kept = trial.querySelector(":scope > .body > noscript");
    return kept ? kept.textContent : "";
  }

  function open(trial) {
    fill(trial);
    trial.hidden = false;
    if (trial.open) return;
    openedHere.add(trial);
    trial.open = true;
  }

  // ---- places

  // Unfold all that hides an element.
  function reveal(element) {
    const trial = element.closest(".trial");
    if (trial) open(trial);
    for (let at = element; (at = at.parentElement && at.parentElement.closest("details")); ) at.open = true;
    const turn = element.closest(".turn");
    const talk = element.closest(".talk");
    if (talk && turn && getComputedStyle(turn).display === "none") setOnly(talk, false);
  }

  // Go to the element with this id, wherever it is; false if there is none.
  function go(id) {
    const trial = ownerOf(id);
    if (trial) fill(trial);
    const element = document.getElementById(id);
    if (!element) return false;
    reveal(element);
    if (element === trial) {
      open(trial);
      element.scrollIntoView();
      trial.querySelector("summary").focus({preventScroll: true});
      return true;
    }
    if (trial) unmark(trial);
    if (element.matches("details")) element.open = true;
    const turn = element.closest(".turn");
    if (turn) turn.classList.add("found");
    element.scrollIntoView({block: turn === element && tall(element) ? "start" : "center"});
    (element.querySelector(":scope > summary") || element).focus({preventScroll: true});
    return true;
  }

  function tall(element) {
    return element.offsetHeight > innerHeight * 0.8;
  }

  // The trial that an id is of: its own, or that of something in it.
  function ownerOf(id) {
    const found = all.filter((trial) => id === trial.id || id.startsWith(trial.id + "-"));
    return found.sort((one, other) => other.id.length - one.id.length)[0] || null;
  }

  // ---- evidence

  // Show the turn that a quote names, and mark there what is quoted.
  function follow(quote) {
    const trial = quote.closest(".trial");
    if (!go(quote.hash.slice(1))) return;
    quote.setAttribute("aria-current", "true");
    const turn = document.getElementById(quote.hash.slice(1));
    const words = quote.dataset.quoted ? turn.querySelector('[data-place="' + quote.dataset.quoted + '"]') : null;
    if (words) markAll(words, JSON.parse(quote.dataset.marks));
    const tool = words && words.closest(".tool");
    if (tool) tool.open = true;
    const mark = trial.querySelector(".turn mark");
    if (mark) mark.scrollIntoView({block: "center"});
  }

  function markAll(words, pieces) {
    let rest = words.firstChild;
    for (const piece of pieces) {
      const start = rest ? rest.data.indexOf(piece) : -1;
      if (start < 0) return;
      const found = rest.splitText(start);
      rest = found.splitText(piece.length);
      const mark = make("mark");
      found.replaceWith(mark);
      mark.append(found);
    }
  }

  function unmark(trial) {
    for (const mark of trial.querySelectorAll("mark")) {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent.normalize();
    }
    for (const old of trial.querySelectorAll(".turn.found")) old.classList.remove("found");
    for (const old of trial.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
  }

  // ---- what only a script can do in an unfolded trial

  function equip(trial) {
    for (const talk of trial.querySelectorAll(".talk")) equipTalk(talk);
    if (!navigator.clipboard) return;
    for (const command of trial.querySelectorAll(".command")) command.append(copyButton(command.textContent));
  }

  function copyButton(text) {
    const copy = button("button", "Copy", () =>
      navigator.clipboard.writeText(text).then(() => { copy.textContent = "Copied"; }, () => {}));
    copy.dataset.label = "";
    return copy;
  }

  function equipTalk(talk) {
    const tools = talk.querySelectorAll(".tool.call");
    const evidence = talk.querySelectorAll(".back");
    const bar = make("div.steps");
    bar.dataset.label = "";
    const said = make("output");
    if (tools.length) bar.append(stepper("Next tool call", tools, said, (tool) => go(tool.id)));
    if (evidence.length) bar.append(stepper("Next evidence", evidence, said, show));
    if (evidence.length) bar.append(onlyEvidence(talk));
    if (bar.childElementCount) talk.querySelector(".chat-title").append(bar, said);
  }

  // A button that goes from one thing to the next, and from the last to the first.
  function stepper(words, things, said, act) {
    let at = -1;
    const step = button("button", words, () => {
      at = (at + 1) % things.length;
      act(things[at]);
      said.textContent = at + 1 + " of " + things.length;
      step.focus({preventScroll: true}); // so that the next press goes on
    });
    return step;
  }

  // What a mark at a turn is about, shown at the turn: the quoted words, or the tool that failed.
  function show(mark) {
    const id = mark.hash.slice(1);
    const quote = mark.closest(".trial").querySelector('.quote[data-of="' + id + '"]');
    if (quote) follow(quote);
    else go(mark.closest(".tool, .turn").id);
    if (!quote && mark.dataset.tool !== undefined) go(id);
  }

  function onlyEvidence(talk) {
    const turns = talk.querySelectorAll(".turn");
    const box = make("input");
    box.type = "checkbox";
    box.addEventListener("change", () => setOnly(talk, box.checked));
    const count = talk.querySelectorAll(".turn.evidence").length;
    return make("label.only", box, " Only turns with evidence (" + count + " of " + turns.length + ")");
  }

  function setOnly(talk, only) {
    talk.classList.toggle("only-evidence", only);
    talk.querySelector(".only input").checked = only;
  }

  // Links within the page: also to where one is already, and into what is folded.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const id = link.hash.slice(1);
    if (!ownerOf(id)) return;
    event.preventDefault();
    if (link.classList.contains("quote")) follow(link);
    else go(id);
    history.replaceState(null, "", link.hash);
  });

  return {all, filled, openedHere, fill, source, open, reveal, go};
})();
