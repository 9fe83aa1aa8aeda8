"use strict";
// What the scripts of all pages share.
// Texts are put in by textContent and nothing else: whatever they contain, they stay text.
const parts = (() => {
  // make("p.muted", "text") or make("div", child, child): an element of a class with children.
  function make(what, ...children) {
    const [tag, ...classes] = what.split(".");
    const element = document.createElement(tag);
    if (classes.length) element.className = classes.join(" ");
    element.append(...children.filter((child) => child !== null && child !== ""));
    return element;
  }

  function icon(name, label) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", "#i-" + name);
    svg.setAttribute("class", "icon " + name);
    svg.append(use);
    if (label) {
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", label);
    } else {
      svg.setAttribute("aria-hidden", "true");
    }
    return svg;
  }

  function button(what, label, action) {
    const element = make(what, ...[].concat(label));
    element.type = "button";
    element.addEventListener("click", action);
    return element;
  }

  function said(who, label, text) {
    const words = text.trim() ? make("div.text", text) : make("div.text.empty", "(nothing)");
    words.dataset.place = who === "user" ? "user" : "reply";
    return make("div.said." + who, make("span.who", label), words);
  }

  // A folded tool call, of which only the first line is seen; `place` is which one of its turn it is.
  function toolCall(call, place) {
    const summary = make("summary", make("code", call.name), make("span.short", call.args.replace(/\s+/g, " ")));
    if (call.about) summary.append(make("span.muted", call.about));
    if (call.failed) summary.append(make("span.failed", "failed"));
    if (call.time) summary.append(make("span.muted", call.time));
    const args = make("pre", call.args);
    const result = make("pre", call.result);
    args.dataset.place = "args " + place;
    result.dataset.place = "result " + place;
    const words = call.request ? ["Asked", "Answer"] : ["Called with", call.failed ? "Error" : "Gave back"];
    const titles = words.map((title) => make("h4", title));
    // A call inside another one is further to the right.
    const kind = "details.tool" + (call.depth ? ".inside-" + call.depth : "");
    return make(kind, summary, titles[0], args, titles[1], result);
  }

  // What the target wrote for itself, folded: nobody else was sent it.
  function thoughts(text) {
    return make("details.tool", make("summary", "Thoughts (not sent, not evidence)"), make("pre", text));
  }

  // One turn: a line above it (its number, and `extras`), what the user said, the tools, what the target said.
  function turn(data, target, ...extras) {
    const head = make("div.turn-head", make("span", "Turn " + data.n), ...extras);
    const item = make("li.turn", head, said("user", "User", data.user));
    (data.calls || []).forEach((call, place) => item.append(toolCall(call, place)));
    (data.models || []).forEach((line) => item.append(make("p.muted", line)));
    if (data.used) item.append(make("p.muted", data.used));
    if (data.reply === undefined) item.append(make("p.text.empty", "No reply came."));
    else {
      if (data.thoughts) item.append(thoughts(data.thoughts));
      item.append(said("agent", target, data.reply));
    }
    return item;
  }

  function facts(pairs) {
    return make("dl.facts", ...pairs.flatMap(([label, value]) => [make("dt", label), make("dd", value)]));
  }

  // Numbers as Python writes them with "{:,}".
  function number(value) {
    return value.toLocaleString("en");
  }

  // `12`, or `3 of 12` where not all are shown.
  function someOf(shown, all) {
    return shown === all ? number(all) : number(shown) + " of " + number(all);
  }

  // ---- searching

  function pattern(text) {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }

  // The same text as it is inside the data of a trial.
  function asData(text) {
    return JSON.stringify(text).slice(1, -1).replace(/[&<>]/g, (c) => "\\u00" + c.charCodeAt(0).toString(16));
  }

  // ---- filtering

  // changed() after each change of the form: of typing, only once it pauses.
  function onFilter(form, changed) {
    let later = 0;
    form.addEventListener("input", (event) => {
      clearTimeout(later);
      later = setTimeout(changed, event.target.name === "text" ? 150 : 0);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(changed, 0));
  }

  // "/" goes to the form's search, unless somebody is typing or usable() says no.
  function onSlash(form, usable) {
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || !usable() || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, select, textarea")) return;
      event.preventDefault();
      form.elements.text.focus();
    });
  }

  return {make, icon, button, turn, facts, number, someOf, pattern, asData, onFilter, onSlash};
})();
