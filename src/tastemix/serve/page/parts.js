// What pages are made of: elements, numbers, colours, questions to the service, a field that suggests.
// Nothing is ever parsed as HTML, so no title can smuggle in markup.

/** An element with attributes (functions are listeners) and children (texts, elements, or nothing). */
export const h = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const s = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value != null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((child) => child != null && child !== false));
  return node;
}

/** A part of a page under its heading. */
export const section = (title, ...children) => h("section", {}, h("h2", {}, title), children);
export const lead = (...children) => h("p", { class: "lead" }, children);
export const note = (...children) => h("p", { class: "note" }, children);
export const empty = (text) => h("p", { class: "empty" }, text);
export const problem = (text) => h("p", { class: "problem", role: "alert" }, text);

export const itemAt = (id) => `/item/${encodeURIComponent(id)}`;
export const toItem = (item) => h("a", { href: itemAt(item.id) }, item.title);
export const toPerson = (id) => h("a", { href: `/person/${encodeURIComponent(id)}` }, `Person ${id}`);
export const toTaste = (taste, ...before) => h("a", { href: `/taste/${taste.taste}` }, before, taste.name);

/** A table: a header for each row, drawings, and numbers. */
export const table = (caption, heads, rows, foot) => h("table", {},
  h("caption", { class: "unseen" }, caption),
  h("thead", {}, h("tr", {}, heads.map((head, at) =>
    typeof head === "string" ? h("th", { scope: "col", class: at && "n" }, head) : h("td", {}, head)))),
  h("tbody", {}, rows.map(row)), foot && h("tfoot", {}, row(foot)));

const row = ([head, ...cells]) => h("tr", {}, h("th", { scope: "row" }, head), cells.map((cell) =>
  cell instanceof SVGElement ? h("td", { class: "line", "aria-hidden": "true" }, cell) : h("td", { class: "n" }, cell)));

/** Say something to those who cannot see the page change. */
export const announce = (text) => document.getElementById("live").replaceChildren(text);

/** With so many digits, and a true minus. */
export function fixed(value, digits = 2) {
  const text = value.toFixed(digits);
  return (Number(text) ? text : text.replace("-", "")).replace("-", "\u2212");
}

export const stars = (rating) => fixed(rating, Number.isInteger(rating) ? 0 : 1);
export const count = (value) => value.toLocaleString("en");
export const many = (value, one) => `${count(value)} ${one}${value === 1 ? "" : "s"}`;

/** The values rounded so that, as printed, they add up to their rounded sum (largest remainders). */
export function addingUp(values) {
  const floors = values.map((value) => Math.floor(value * 100));
  const left = (at) => values[at] * 100 - floors[at];
  let missing = Math.round(values.reduce((sum, value) => sum + value, 0) * 100) - floors.reduce((a, b) => a + b, 0);
  for (const at of [...values.keys()].sort((a, b) => left(b) - left(a))) if (missing-- > 0) floors[at] += 1;
  return floors.map((value) => value / 100);
}

const HUES = [28, 75, 150, 215, 265, 335];
const SHADES = [0, 0.1, -0.09];
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [sheet];

/** Six hues around the map, so that related tastes share one, in three shades. */
export function paint(tastes) {
  const group = Math.max(tastes.length / HUES.length, 1);
  sheet.replaceSync(tastes.map(({ taste, turn }) => {
    const hue = Math.floor(turn / group);
    const shade = SHADES[(turn - Math.ceil(hue * group)) % SHADES.length];
    return `.taste-${taste} { --taste: oklch(calc(var(--light) + ${shade}) var(--chroma) ${HUES[hue]}) }`;
  }).join(""));
}

/** A spot of the colour of a part. */
export const spot = ({ taste, kind }) => h("span", { class: `spot ${taste ? `taste-${taste}` : kind}`, "aria-hidden": "true" });

/** The answer to a GET, or to another method with a body. Refusals have a title and a sentence. */
export async function ask(path, { method = "GET", body, signal } = {}) {
  const answer = await fetch(`/api/v1/${path}`, {
    method, signal, body: body && JSON.stringify(body),
    headers: body && { "content-type": "application/json" },
  }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw refusal("No answer", "The service does not answer. Is it still running?");
  });
  if (answer.ok) return answer.json();
  const { title, detail } = await answer.json().catch(() => ({}));
  throw refusal(title ?? `Error ${answer.status}`, detail ?? "The service could not answer.");
}

export const refusal = (title, detail) => Object.assign(new Error(detail), { title });

/** The same, kept for as long as the page is open. */
const kept = new Map();
export function known(path) {
  if (!kept.has(path)) {
    kept.set(path, ask(path));
    kept.get(path).catch(() => kept.delete(path));
  }
  return kept.get(path);
}

export const forget = () => kept.clear();
export const at = (folder, id) => `${folder}/${encodeURIComponent(id)}`;

/** A field with suggestions from sources, each (text, ask) => [{ text, kind, … }], and a pick of one. */
export function search(id, label, sources, pick) {
  let found = [], here = -1, asked, waiting;
  const list = h("ul", { role: "listbox", id, "aria-label": "Suggestions", hidden: true });
  const field = h("input", {
    role: "combobox", autocomplete: "off", spellcheck: "false", placeholder: label, "aria-label": label,
    "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list",
    input: () => { clearTimeout(waiting); waiting = setTimeout(look, 90); },
    focus: () => look(), blur: () => close(), keydown: pressed,
  });
  const none = h("p", { hidden: true }, "Nothing is called that.");

  async function look() {
    close();
    const text = field.value.trim();
    if (!text) return;
    const { signal } = asked = new AbortController();
    const answers = await Promise.all(sources.map((source) =>
      source(text, (path) => ask(path, { signal })).catch(() => [])));
    if (signal.aborted) return;
    found = answers.flat();
    list.replaceChildren(...found.map((each, number) => h("li", {
      role: "option", id: `${id}-${number}`, "aria-selected": "false",
      mousedown: (event) => { event.preventDefault(); choose(number); },
    }, each.text, h("small", {}, each.kind))));
    list.hidden = !found.length;
    none.hidden = !list.hidden;
    field.setAttribute("aria-expanded", !list.hidden);
    announce(found.length ? `${found.length} suggestions` : none.textContent);
  }

  function close() {
    clearTimeout(waiting);
    asked?.abort();
    here = -1;
    list.hidden = none.hidden = true;
    field.setAttribute("aria-expanded", false);
    field.removeAttribute("aria-activedescendant");
  }

  function choose(number) {
    close();
    field.value = "";
    pick(found[number]);
  }

  function move(to) {
    list.children[here]?.setAttribute("aria-selected", false);
    here = (to + found.length) % found.length;
    const option = list.children[here];
    option.setAttribute("aria-selected", true);
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  }

  function pressed(event) {
    if (event.key === "Escape") { close(); field.value = ""; }
    if (list.hidden || event.isComposing) return;
    if (event.key === "Enter") choose(Math.max(here, 0));
    else if (event.key === "ArrowDown") move(here + 1);
    else if (event.key === "ArrowUp") move(here < 0 ? -1 : here - 1);
    else return;
    event.preventDefault();
  }

  return h("div", { class: "search" }, field, list, none);
}
