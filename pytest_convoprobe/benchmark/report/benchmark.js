(() => {
  const {make, icon, facts, number, someOf, pattern, asData, asHtml, elementsOf, onFilter, onSlash} = parts;
  const STATES = [
    {name: "failed", word: "failed", icon: "failed"},
    {name: "unreadable", word: "unreadable", icon: "error"},
    {name: "unscored", word: "not evaluated", icon: "skipped"},
    {name: "passed", word: "passed", icon: "passed"},
  ];
  const STATE = Object.fromEntries(STATES.map((state) => [state.name, state]));
  const heat = document.getElementById("heat");
  if (!heat) return;
  const cells = Array.from(heat.querySelectorAll("a"));
  const panel = document.getElementById("cell");
  const form = document.getElementById("filters");
  const talks = document.getElementById("talks");
  const nothing = document.getElementById("nothing");
  const shownCount = document.getElementById("shown");
  const reset = form.querySelector("button[type=reset]");
  const states = document.getElementById("states");
  let current = null; // the link of the cell that is open
  let rows = []; // its conversations, in the page's order

  // What is said in one of the script elements that hold data; null if it isn't there.
  function data(id) {
    const source = document.getElementById(id);
    return source && JSON.parse(source.textContent);
  }

  // ---- one cell

  function open(cell) {
    if (cell === current) return;
    leave();
    current = cell;
    cell.setAttribute("aria-current", "true");
    const entries = data(cell.dataset.of);
    describe(cell, entries);
    rows = (entries || []).map((entry) => ({entry, talk: talkOf(entry)}));
    talks.replaceChildren(...rows.map((row) => row.talk));
    offer(rows.map((row) => row.entry));
    panel.hidden = false;
  }

  function leave() {
    if (current) current.removeAttribute("aria-current");
    current = null;
    rows = [];
    talks.replaceChildren();
    panel.hidden = true;
  }

  function describe(cell, entries) {
    const about = JSON.parse(cell.closest("tr").dataset.about);
    const column = cell.closest("td").cellIndex;
    const target = heat.tHead.rows[0].cells[column].textContent;
    document.getElementById("cell-title").textContent = about.name + " · " + target;
    document.getElementById("cell-rate").textContent = cell.dataset.rate;
    document.getElementById("definition").textContent = about.definition;
    document.getElementById("examples").replaceChildren(...about.examples.map((text) => make("li", text)));
    document.getElementById("about").hidden = !about.definition;
    remark(Number(cell.dataset.count), entries);
  }

  function remark(all, entries) {
    const box = document.getElementById("cell-left-out");
    const here = entries ? entries.length : 0;
    box.hidden = entries !== null && here === all;
    if (!entries) box.textContent = "This file is cut off: what was said is not in it.";
    else box.textContent = number(here) + " of " + number(all)
      + " conversations of this field are in this page. The others are in the benchmark's folder.";
  }

  // The filters that these conversations have a use for.
  function offer(entries) {
    const there = STATES.filter((state) => entries.some((entry) => entry.state === state.name));
    const legend = states.querySelector("legend");
    states.replaceChildren(legend, ...there.map(chip));
    const people = new Set(entries.flatMap((entry) => entry.person.map(value)));
    form.elements.person.replaceChildren(choice("", "anybody"), ...Array.from(people, (one) => choice(one, one)));
    form.elements.person.hidden = people.size === 0;
    form.elements.text.value = "";
  }

  function value([name, word]) {
    return name + ": " + word;
  }

  function chip(state) {
    const box = make("input");
    Object.assign(box, {type: "checkbox", name: "only", value: state.name});
    return make("label", box, make("span", icon(state.icon), " " + state.word));
  }

  function choice(key, text) {
    const option = make("option", text);
    option.value = key;
    return option;
  }

  // ---- one conversation

  function talkOf(entry) {
    const state = STATE[entry.state];
    const meta = make("span.meta", make("span.place", "sample " + entry.sample), ...entry.person.map((one) => make("span.tag", value(one))));
    const what = make("span.what", make("span.outcome." + state.icon, state.word),
      make("strong", entry.id), make("span.why", entry.why), meta);
    const talk = make("details.trial", make("summary", icon(state.icon), what), make("div.body." + state.icon));
    talk.id = "talk-" + entry.n;
    talk.addEventListener("toggle", () => {
      if (talk.open) fill(talk, entry);
      remember();
    });
    return talk;
  }

  function fill(talk, entry) {
    const body = talk.querySelector(".body");
    if (body.childElementCount) return;
    const both = [verdict(entry, data("s" + entry.s)), conversation(document.getElementById("c" + entry.n))];
    body.append(make("div.two", ...both));
  }

  function verdict(entry, scenario) {
    const lead = make("p.lead", make("b", entry.verdict + "."), entry.why ? "\n" + entry.why : "");
    const column = make("div.verdict", make("section", lead));
    const list = facts([...(scenario ? scenario.facts : []), ...entry.person]);
    if (scenario && scenario.landmarks.length) list.append(make("dt", "Landmarks"), landmarks(scenario.landmarks));
    if (scenario && scenario.system) list.append(make("dt", "System prompt"), make("dd.as-is", scenario.system));
    list.append(make("dt", "Where"), make("dd", entry.file + ", " + entry.id + ", sample " + entry.sample));
    const section = make("section", make("h3", "Scenario"), list);
    if (!scenario) section.append(make("p.muted", "scenarios.json has no scenario of this id."));
    column.append(section);
    return column;
  }

  function landmarks(marks) {
    const lines = marks.map(([turn, text]) => make("li", make("b", "Turn " + turn), " " + text));
    return make("dd", make("ol.landmarks", ...lines));
  }

  function conversation(talk) {
    const section = make("div.talk", make("h3", "Conversation"));
    if (!talk) section.append(make("p.muted", "The benchmark's folder has a score of this conversation, but not what was said."));
    else section.append(...elementsOf(talk.textContent));
    return section;
  }

  // ---- filters; what is open and their settings are in the address

  function wanted() {
    const values = new FormData(form);
    return {
      only: values.getAll("only"),
      person: values.get("person") || "",
      text: (values.get("text") || "").trim(),
    };
  }

  function matches(entry, want, plain, inData, inHtml) {
    if (want.only.length && !want.only.includes(entry.state)) return false;
    if (want.person && !entry.person.some((one) => value(one) === want.person)) return false;
    if (!want.text || plain.test(entry.id) || plain.test(entry.why)) return true;
    return [["c" + entry.n, inHtml], ["s" + entry.s, inData]].some(([id, found]) => {
      const source = document.getElementById(id);
      return source !== null && found.test(source.textContent);
    });
  }

  function apply() {
    const want = wanted();
    const [plain, inData, inHtml] = [want.text, asData(want.text), asHtml(want.text)].map((text) => pattern(text));
    let count = 0;
    for (const row of rows) {
      const fits = matches(row.entry, want, plain, inData, inHtml);
      row.talk.hidden = !fits;
      count += fits;
    }
    shownCount.textContent = someOf(count, rows.length);
    reset.hidden = !(want.only.length || want.person || want.text);
    nothing.hidden = count > 0;
    nothing.textContent = rows.length ? "No conversation is like that." : "There are no conversations here.";
  }

  function remember() {
    const address = new URLSearchParams();
    if (current) {
      const want = wanted();
      address.set("cell", current.dataset.cell);
      if (want.only.length) address.set("only", want.only.join(","));
      if (want.person) address.set("person", want.person);
      if (want.text) address.set("text", want.text);
      const unfolded = rows.filter((row) => row.talk.open).map((row) => row.entry.n);
      if (unfolded.length && unfolded.length <= 20) address.set("open", unfolded.join(","));
    }
    history.replaceState(null, "", "#" + address.toString());
  }

  function restore() {
    if (document.readyState === "loading") return; // it is called again when all is there
    const address = new URLSearchParams(location.hash.slice(1));
    const name = address.get("cell");
    const cell = name === null ? null : cells.find((one) => one.dataset.cell === name);
    if (!cell) return leave();
    open(cell);
    const only = (address.get("only") || "").split(",");
    for (const box of form.querySelectorAll("[name=only]")) box.checked = only.includes(box.value);
    form.elements.person.value = address.get("person") || "";
    if (form.elements.person.selectedIndex === -1) form.elements.person.selectedIndex = 0;
    form.elements.text.value = address.get("text") || "";
    apply();
    unfold((address.get("open") || "").split(","));
  }

  function unfold(numbers) {
    const wantedOnes = rows.filter((row) => numbers.includes(String(row.entry.n)));
    for (const row of wantedOnes) {
      row.talk.open = true;
      row.talk.hidden = false;
    }
    const first = wantedOnes[0] ? wantedOnes[0].talk : null;
    (first || panel).scrollIntoView();
    (first ? first.querySelector("summary") : document.getElementById("cell-title")).focus({preventScroll: true});
  }

  // ---- the heat map by keyboard

  const STEPS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

  function step(event) {
    const link = event.target.closest("a");
    const way = STEPS[event.key];
    if (!link || !way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const place = link.closest("td");
    const row = heat.rows[place.parentNode.rowIndex + way[0]];
    const next = row && row.cells[place.cellIndex + way[1]];
    const field = next && next.querySelector("a");
    if (field) field.focus();
  }

  onFilter(form, () => { apply(); remember(); });
  heat.addEventListener("keydown", step);
  // A field whose address is the page's already: the address doesn't change, so go there all the same.
  heat.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link === current && !event.ctrlKey && !event.metaKey && !event.shiftKey) unfold([]);
  });
  document.getElementById("close").addEventListener("click", () => {
    const cell = current;
    leave();
    remember();
    if (cell) cell.focus();
  });
  onSlash(form, () => !panel.hidden);
  addEventListener("hashchange", restore);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", restore);
  else restore();
})();
