// The list: filters, whose settings are in the address, and what the address asks for.
(() => {
  const {someOf, pattern, onFilter, onSlash} = parts;
  const form = document.getElementById("filters");
  const shownCount = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const reset = form.querySelector("button[type=reset]");
  const text = form.elements.text;
  // The names of the filters: each is an attribute of the trials, with one value or several on lines.
  const names = Array.from(new Set(Array.from(form.elements, (one) => one.name))).filter((name) => name && name !== "text");

  function wanted() {
    const values = new FormData(form);
    return Object.fromEntries(names.map((name) => [name, values.getAll(name).filter(Boolean)]));
  }

  function fits(trial, want) {
    return names.every((name) =>
      !want[name].length || trial.dataset[name].split("\n").some((value) => want[name].includes(value)));
  }

  function apply() {
    const want = wanted();
    const words = text.value.trim();
    const fitting = trials.all.filter((trial) => fits(trial, want));
    search.look(words, fitting);
    const inLine = pattern(words);
    const shown = new Set(fitting.filter((trial) =>
      !words || search.matches(trial) || inLine.test(lineOf(trial))));
    for (const trial of trials.all) trial.hidden = !shown.has(trial);
    shownCount.textContent = someOf(shown.size, trials.all.length);
    reset.hidden = !words && !names.some((name) => want[name].length);
    nothing.hidden = shown.size > 0;
  }

  function lineOf(trial) {
    return trial.querySelector(".what").textContent.replace(/\s+/g, " ");
  }

  function remember() {
    const address = new URLSearchParams();
    for (const [name, values] of Object.entries(wanted())) if (values.length) address.set(name, values.join(","));
    if (text.value.trim()) address.set("text", text.value.trim());
    const open = trials.all.filter((trial) => trial.open).map((trial) => trial.id);
    if (open.length && open.length <= 20) address.set("open", open.join(","));
    history.replaceState(null, "", "#" + address.toString());
  }

  function setFrom(address) {
    for (const field of form.elements) {
      const value = address.get(field.name) || "";
      if (field.type === "checkbox") field.checked = value.split(",").includes(field.value);
      else if (names.includes(field.name) || field === text) field.value = value;
      if (field.selectedIndex === -1) field.selectedIndex = 0;
    }
  }

  // The address is either a place (#refund-1f3a9c7be2-turn-4) or settings (#outcome=failed&open=…).
  function restore() {
    const hash = location.hash.slice(1);
    const address = new URLSearchParams(hash.includes("=") ? hash : "");
    const open = (address.get("open") || "").split(",").filter(Boolean);
    if ([...names, "text"].some((name) => address.has(name)) || !open.length) setFrom(address);
    apply();
    const found = open.map((id) => trials.all.find((trial) => trial.id === id)).filter(Boolean);
    found.forEach(trials.open);
    if (found[0]) trials.go(found[0].id);
    else if (hash && !hash.includes("=")) trials.go(hash);
    search.repaint();
  }

  form.hidden = false;
  function change() {
    apply();
    remember();
  }

  onFilter(form, change);
  nothing.querySelector("button").addEventListener("click", () => form.reset());
  document.addEventListener("toggle", (event) => {
    const trial = event.target;
    if (!trial.classList.contains("trial")) return;
    if (trial.open) trials.fill(trial);
    search.repaint();
    // What a link or a hit has unfolded is in the address already.
    if (!trials.openedHere.delete(trial)) remember();
  }, true);
  search.listen(text, change);
  onSlash(form, () => true);
  addEventListener("hashchange", restore);
  restore();
  // The browser goes to a place by itself once all is there, and takes the focus away.
  if (document.readyState !== "complete" && location.hash.length > 1) addEventListener("load", () => setTimeout(restore));
})();
