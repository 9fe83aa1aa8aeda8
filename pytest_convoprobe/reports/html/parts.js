"use strict";
// What the scripts of all pages share.
// Texts are put in by textContent and by elementsOf: whatever they contain, they stay text.
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

  // The elements of a piece of this file that was kept as text until somebody looks at it. It was escaped
  // where the file was made, and the policy of the page stops what would act in spite of that.
  function elementsOf(text) {
    return Array.from(new DOMParser().parseFromString(text, "text/html").body.children);
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

  // Any white space stands for any other: it doesn't matter where a line ends.
  function pattern(text, flags = "i") {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"), flags);
  }

  const ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;"};

  // The same text as it is inside of HTML, and back.
  function asHtml(text) {
    return text.replace(/[&<>'"]/g, (c) => ENTITIES[c]);
  }

  function fromHtml(text) {
    return text.replace(/&(?:lt|gt|#39|#34|amp);/g, (name) => Object.keys(ENTITIES).find((c) => ENTITIES[c] === name));
  }

  // The same text as it is inside of JSON.
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

  // act() when the key is pressed, unless somebody is typing or act() says no by `false`.
  function onKey(key, act) {
    document.addEventListener("keydown", (event) => {
      if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, select, textarea")) return;
      if (act() !== false) event.preventDefault();
    });
  }

  // "/" goes to the form's search, where usable() says yes.
  function onSlash(form, usable) {
    onKey("/", () => usable() && (form.elements.text.focus(), true));
  }

  return {make, icon, button, elementsOf, facts, number, someOf, pattern, asHtml, fromHtml, asData, onFilter, onKey, onSlash};
})();
