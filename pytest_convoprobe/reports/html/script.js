(() => {
  const {make, icon, button, turn, facts, someOf, pattern, asData, onFilter, onSlash} = parts;
  const trials = Array.from(document.querySelectorAll(".trial"));
  const form = document.getElementById("filters");
  const shownCount = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const reset = form.querySelector("button[type=reset]");
  const OUTCOME = {true: "passed", false: "failed", null: "error"};
  const HOLDS = {true: "holds", false: "does not hold", null: "cannot be told"};

  // ---- one trial

  function fill(trial) {
    const number = trial.id.slice(1);
    const source = document.getElementById("d" + number);
    const body = trial.querySelector(".body");
    if (body.childElementCount) return;
    if (!source && document.readyState === "loading") {
      // Unfolded while the page is still coming in.
      document.addEventListener("DOMContentLoaded", () => fill(trial), {once: true});
      return;
    }
    if (!source) {
      body.append(make("p", "This file is cut off: what was said is not in it."));
      return;
    }
    const data = JSON.parse(source.textContent);
    body.classList.add(trial.dataset.outcome);
    body.append(verdict(trial, data));
    if (data.turns.length || data.pending) body.append(conversation(trial, data));
    else body.classList.add("alone");
  }

  function verdict(trial, data) {
    const column = make("div.verdict");
    const head = make("section");
    if (data.why) head.append(make("p.lead", data.why));
    if (data.changes.length) head.append(make("ul.changes", ...data.changes.map((line) => make("li", line))));
    if (head.childElementCount) column.append(head);
    const criteria = data.criteria.map((one) => criterion(trial, one));
    if (criteria.length) column.append(make("section", make("h3", "Criteria"), ...criteria));
    else if (data.turns.length) column.append(make("section", make("h3", "Criteria"), make("p.muted", "Not judged.")));
    const checks = data.checks.map((one) => check(trial, one));
    if (checks.length) column.append(make("section", make("h3", "Checks"), ...checks));
    const advice = data.suggestions.map(([head, text]) => make("li", text ? make("b", head) : head, text ? " " + text : ""));
    if (advice.length) column.append(make("section", make("h3", "Suggestions of a model about the tools"), make("ul.changes", ...advice)));
    if (data.trace) column.append(make("section", make("h3", data.trace_title), make("pre.trace", data.trace)));
    column.append(make("section", make("h3", "Time and cost"), costs(data)));
    column.append(make("section", make("h3", "Details"), details(data)));
    return column;
  }

  function criterion(trial, one) {
    const text = make("div", make("p.ask", make("span.kind", one.id + " " + one.kind), " ", one.text));
    text.append(make("p.says", make("b", one.word), one.finding ? ": " + one.finding : ""));
    if (one.quote !== null) {
      const label = ["“" + one.quote + "” ", make("b", "turn " + one.turn)];
      const quote = button("button.quote", label, () => follow(trial, one.turn, one, quote));
      text.append(quote);
    }
    const row = make("div.finding", icon(OUTCOME[one.holds], HOLDS[one.holds]), text);
    row.id = trial.id + "-" + one.id;
    row.tabIndex = -1;
    return row;
  }

  function check(trial, one) {
    const says = make("p.says", "expected " + one.expected + "; found " + one.found);
    if (one.turn !== null) {
      says.append(" ", button("button.jump", "turn " + one.turn, () => follow(trial, one.turn, null, null)));
    }
    const text = make("div", make("p.ask", one.name), says);
    return make("div.finding", icon(OUTCOME[one.holds], HOLDS[one.holds]), text);
  }

  function costs(data) {
    const box = make("div");
    box.append(facts(data.times));
    if (!data.cost.length) return box;
    const cells = (row) => [row.calls, row.in, row.out, row.cost].map((value) => make("td", value));
    const head = ["Role", "Calls", "Tokens in", "out", "Cost"].map((name) => {
      const cell = make("th", name);
      cell.scope = "col";
      return cell;
    });
    const rows = data.cost.map((row) =>
      make("tr", make("td", row.role, row.model ? make("small", row.model) : ""), ...cells(row)));
    const table = make("table", make("thead", make("tr", ...head)), make("tbody", ...rows));
    if (data.total) table.append(make("tfoot", make("tr", make("td", "total"), ...cells(data.total))));
    box.append(make("div.wide", table));
    return box;
  }

  function details(data) {
    return facts(data.facts.map(([label, value]) => [label, label === "Run again" ? command(value) : value]));
  }

  function command(text) {
    const box = make("span.command", make("code", text));
    if (navigator.clipboard) {
      const copy = button("button", "Copy", () =>
        navigator.clipboard.writeText(text).then(() => { copy.textContent = "Copied"; }, () => {}));
      box.append(copy);
    }
    return box;
  }

  // ---- the conversation

  function conversation(trial, data) {
    const title = make("div.chat-title", make("h3", "Conversation"));
    if (data.silent) title.append(make("small", "This target does not report its tool calls."));
    const chat = make("ol.chat");
    for (const one of data.turns) chat.append(turnOf(trial, data, one));
    if (data.pending) chat.append(turnOf(trial, data, data.pending));
    const section = make("div.talk", title, chat);
    if (data.ended) section.append(make("p.ending", data.ended));
    return section;
  }

  function turnOf(trial, data, here) {
    const notes = [here.origin, here.time].filter(Boolean).map((text) => make("span", text));
    const quoted = data.criteria.filter((one) => one.turn === here.n && one.quote !== null);
    const item = turn(here, "Agent", ...notes, ...quoted.map((one) => back(trial, one)));
    item.id = trial.id + "-turn-" + here.n;
    item.tabIndex = -1;
    return item;
  }

  function back(trial, one) {
    const chip = button("button.back", [icon(OUTCOME[one.holds], HOLDS[one.holds]), one.id], () => {
      const row = document.getElementById(trial.id + "-" + one.id);
      row.scrollIntoView({block: "center"});
      row.focus({preventScroll: true});
    });
    chip.title = "Evidence for: " + one.text;
    return chip;
  }

  // Show the turn that a quote or a check names, and mark what is quoted there.
  function follow(trial, number, one, quote) {
    for (const old of trial.querySelectorAll("mark")) unmark(old);
    for (const old of trial.querySelectorAll(".turn.found")) old.classList.remove("found");
    for (const old of trial.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const turn = document.getElementById(trial.id + "-turn-" + number);
    if (!turn) return;
    turn.classList.add("found");
    if (quote) quote.setAttribute("aria-current", "true");
    const words = one && one.place ? turn.querySelector('[data-place="' + one.place + '"]') : null;
    if (words) markAll(words, one.marks);
    const tool = words ? words.closest(".tool") : null;
    if (tool) tool.open = true;
    (turn.querySelector("mark") || turn).scrollIntoView({block: "center"});
    turn.focus({preventScroll: true});
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

  function unmark(mark) {
    const parent = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    parent.normalize();
  }

  // ---- filters; their settings are in the address

  const rows = trials.map((trial) => ({
    trial,
    outcome: trial.dataset.outcome,
    blame: trial.dataset.blame,
    tags: trial.dataset.tags.split("\n"),
    newly: trial.dataset.newly !== "",
    text: trial.querySelector(".what").textContent.replace(/\s+/g, " "),
  }));

  function wanted() {
    const values = new FormData(form);
    return {
      outcome: values.getAll("outcome"),
      blame: values.get("blame") || "",
      tag: values.get("tag") || "",
      newly: values.has("newly"),
      text: (values.get("text") || "").trim(),
    };
  }

  function matches(row, want, inName, inData) {
    if (want.outcome.length && !want.outcome.includes(row.outcome)) return false;
    if (want.blame && want.blame !== row.blame) return false;
    if (want.tag && !row.tags.includes(want.tag)) return false;
    if (want.newly && !row.newly) return false;
    if (!want.text || inName.test(row.text)) return true;
    const data = document.getElementById("d" + row.trial.id.slice(1));
    return data !== null && inData.test(data.textContent);
  }

  function apply() {
    const want = wanted();
    const inName = pattern(want.text);
    const inData = pattern(asData(want.text));
    let count = 0;
    for (const row of rows) {
      const fits = matches(row, want, inName, inData);
      row.trial.hidden = !fits;
      count += fits;
    }
    const all = rows.length;
    shownCount.textContent = someOf(count, all);
    reset.hidden = count === all && !filtered(want);
    nothing.hidden = count > 0;
  }

  function filtered(want) {
    return Boolean(want.outcome.length || want.blame || want.tag || want.newly || want.text);
  }

  function remember() {
    const want = wanted();
    const address = new URLSearchParams();
    if (want.outcome.length) address.set("outcome", want.outcome.join(","));
    for (const name of ["blame", "tag", "text"]) if (want[name]) address.set(name, want[name]);
    if (want.newly) address.set("newly", "1");
    const open = trials.filter((trial) => trial.open).map((trial) => trial.id.slice(1));
    if (open.length && open.length <= 20) address.set("open", open.join(","));
    history.replaceState(null, "", "#" + address.toString());
  }

  function setFrom(address) {
    const outcomes = (address.get("outcome") || "").split(",");
    for (const box of form.querySelectorAll("[name=outcome]")) box.checked = outcomes.includes(box.value);
    for (const name of ["blame", "tag", "text", "newly"]) {
      const field = form.elements[name];
      if (!field) continue;
      if (name === "newly") field.checked = address.has("newly");
      else field.value = address.get(name) || "";
      if (field.selectedIndex === -1) field.selectedIndex = 0;
    }
  }

  function restore() {
    const address = new URLSearchParams(location.hash.slice(1));
    const open = (address.get("open") || "").split(",").map((number) => document.getElementById("t" + number));
    if (["outcome", "blame", "tag", "text", "newly"].some((name) => address.has(name)) || !open[0]) setFrom(address);
    apply();
    for (const trial of open) if (trial) trial.open = true;
    if (open[0]) {
      open[0].hidden = false;
      open[0].scrollIntoView();
      open[0].querySelector("summary").focus({preventScroll: true});
    }
  }

  onFilter(form, () => { apply(); remember(); });
  nothing.querySelector("button").addEventListener("click", () => form.reset());
  document.addEventListener("toggle", (event) => {
    if (!event.target.classList.contains("trial")) return;
    if (event.target.open) fill(event.target);
    remember();
  }, true);
  onSlash(form, () => true);
  addEventListener("hashchange", restore);
  if (location.hash.length > 1) {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", restore);
    apply();
    if (document.readyState !== "loading") restore();
  } else {
    apply();
  }
})();
