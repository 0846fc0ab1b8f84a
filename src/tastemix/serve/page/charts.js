// Drawings: predictions and mixes of tastes as bars, and the map of tastes and items.

import { addingUp, announce, empty, fixed, h, itemAt, many, note, s, section, spot, table, toItem, toTaste } from "./parts.js";

const FEW = 6;
const FIRST = 8;
const WIDE = 700;
const STEPS = 16;
let made = 0;

/** The axis that all bars of a list share. */
function axisOf({ low, high }, items) {
  const from = Math.min(0, low, ...items.map((item) => item.bar.baseline));
  const to = Math.max(high, ...items.map((item) => item.bar.total));
  const unit = 10 ** Math.floor(Math.log10((high - from) / 5));
  const step = unit * [1, 2, 5, 10].find((times) => times * unit >= (high - from) / 5.1);
  const ticks = [];
  for (let tick = Math.ceil(from / step) * step; tick <= high; tick += step) ticks.push(tick);
  return { low, high, from, ticks, share: (width) => `${100 * width / (to - from)}%` };
}

/** The baseline, the largest tastes in their order around the map, and the rest. */
function partsOf({ baseline, tastes: values }, tastes) {
  const sorted = tastes.map((taste, at) => ({ ...taste, value: values[at] })).sort((a, b) => b.value - a.value);
  const large = sorted.splice(0, FEW).sort((a, b) => a.turn - b.turn);
  return [{ name: "Baseline", kind: "baseline", value: baseline }, ...large,
    { name: "Other tastes", kind: "rest", value: sorted.reduce((sum, part) => sum + part.value, 0) }];
}

/** A bar, and under it the range and the predicted rating. */
function drawn({ bar, rating, std }, parts, { low, high, from, ticks, share }) {
  const at = (value) => share(value - from);
  const line = (kind, one, other, y1, y2) => s("line", { class: kind, x1: at(one), x2: at(other), y1, y2 });
  let end = bar.baseline < 0 ? 0 : from;
  return s("svg", { class: "bar", "aria-hidden": "true", height: 30, "data-total": bar.total },
    ticks.map((tick) => line("tick", tick, tick, 0, 30)),
    parts.map(({ taste, kind, name, value }) => {
      const left = Math.min(end, end += value);
      return value !== 0 && s("rect", {
        class: taste ? `taste-${taste}` : kind, x: at(left), y: value < 0 ? 10 : 6, width: share(Math.abs(value)),
        height: value < 0 ? 6 : 14, "data-value": value,
      }, s("title", {}, `${name}: ${fixed(value)}`));
    }),
    std && line("range", Math.max(rating - std, low), Math.min(rating + std, high), 25, 25),
    s("circle", { class: "dot", cx: at(rating), cy: 25, r: 3 }));
}

/** The parts as a table; as printed they add up to the number shown. */
function tableOf({ title, bar, rating }, tastes) {
  const over = rating - bar.total;
  const parts = [{ name: "Baseline", kind: "baseline", value: bar.baseline },
    ...tastes.map((taste, at) => ({ ...taste, value: bar.tastes[at] })).sort((a, b) => b.value - a.value),
    ...(Math.abs(over) < 0.005 ? [] : [{ name: "Limit of the scale", kind: "rest", value: over }])];
  const printed = addingUp(parts.map((part) => part.value));
  return table(`What ${title} is made of`, ["Part", "Adds"], parts.map((part, at) => [
    [spot(part), part.taste ? toTaste(part) : part.name, h("small", { "data-of": part.taste })], fixed(printed[at]),
  ]).filter((part, at) => !parts[at].taste || printed[at]), ["Predicted", fixed(rating)]);
}

/** Recommended items, each with its bar, its number and, when asked, its reasons. */
export function recommended(items, { model, tastes }, because) {
  if (!items.length) return empty("Nothing is left to recommend.");
  if (!items[0].bar) return h("ol", { class: "plain" }, items.map((item) => h("li", {}, toItem(item))));
  const axis = axisOf(model, items);
  const shown = items.map((item) => partsOf(item.bar, tastes));
  const most = (taste) => shown.flat().reduce((sum, part) => sum + (part.taste === taste ? part.value : 0), 0);
  const named = tastes.map((taste) => ({ ...taste, most: most(taste.taste) })).sort((a, b) => b.most - a.most);
  return [
    note("The best first. A bar is a predicted rating: the baseline, and what each taste adds.",
      model.ranges && " The line below it is the range that most such ratings fall in."),
    h("ul", { class: "legend" }, [shown[0][0], ...named.slice(0, FEW)].map((part) => h("li", {}, spot(part), part.name))),
    h("div", { class: "axis", "aria-hidden": "true" }, s("svg", { height: 18 }, axis.ticks.map((tick) =>
      s("text", { x: axis.share(tick - axis.from), y: 13 }, fixed(tick, axis.ticks[1] % 1 ? 1 : 0))))),
    h("ol", {}, items.map((item, at) => row(item, shown[at], axis, tastes, because))),
  ];
}

function row(item, parts, axis, tastes, because) {
  const id = `why-${++made}`;
  const why = h("div", { class: "why", id, hidden: true });
  const button = unfolding("Why", why, async () => {
    if (why.firstChild) return;
    why.append(tableOf(item, tastes));
    for (const part of (await because?.(item)) ?? []) {
      why.querySelector(`[data-of="${part.taste}"]`)?.append(`from ${part.because.map((one) => one.title).join(" · ")}`);
    }
  });
  button.setAttribute("aria-label", `Why ${item.title}`);
  return h("li", { class: "rec" }, toItem(item), drawn(item, parts, axis),
    h("span", { class: "number" }, h("b", {}, fixed(item.rating)), item.std && ` ± ${fixed(item.std)}`), button, why);
}

/** A button that shows and hides something. */
export function unfolding(text, what, shown) {
  const button = h("button", { type: "button", "aria-expanded": "false", click: () => {
    what.hidden = !what.hidden;
    button.setAttribute("aria-expanded", !what.hidden);
    shown?.();
  } }, text);
  return button;
}

/** A bar as wide as a share of its column, and a mark for what is usual. */
export const line = (taste, width, usual) => s("svg", { height: 14 },
  s("rect", { class: `taste-${taste}`, y: 2, height: 10, rx: 2, width: `${100 * width}%` }),
  usual && s("line", { class: "usual", x1: `${100 * usual}%`, x2: `${100 * usual}%`, y1: 0, y2: 14 }));

/** The tastes that someone or something is made of: a strip, and a table of weights or of what they add. */
export function mix(title, shares, { tastes }, of) {
  const usual = of === "weight" && 1;
  const most = Math.max(usual, ...shares.map((share) => share[of]));
  const total = shares.reduce((sum, share) => sum + share.adds, 0);
  let end = 0;
  const strip = tastes.map(({ taste, turn }) => ({ ...shares.find((share) => share.taste === taste), turn }))
    .sort((a, b) => a.turn - b.turn).map(({ taste, name, adds }) => {
      const width = 100 * adds / total;
      return s("rect", { class: `taste-${taste}`, x: `${(end += width) - width}%`, width: `${width}%`, height: "100%" },
        s("title", {}, `${name}: ${fixed(width, 0)} %`));
    });
  const average = usual && s("svg", { height: 14, "aria-hidden": "true" }, s("text", { x: `${100 / most}%`, y: 10 }, "average"));
  const rows = [...shares].sort((a, b) => b[of] - a[of]).map((share) => [[spot(share), toTaste(share)],
    line(share.taste, share[of] / most, usual / most), usual ? `${fixed(share[of], 1)}×` : fixed(share[of])]);
  const part = (from, to) => table(title, ["Taste", average || h("span", {}), usual ? "Weight" : "Adds"], rows.slice(from, to));
  const others = h("div", { class: "others", hidden: true }, part(FIRST));
  return section(title,
    note(usual ? "Weights beside those of the average person." : "What each adds to a prediction for the average person."),
    s("svg", { class: "strip", "aria-hidden": "true", height: 22 }, strip),
    part(0, FIRST), rows.length > FIRST && [others, unfolding(`${rows.length - FIRST} more`, others)]);
}

/** A figure that draws itself as wide as there is room. Arrow keys go from item to item. */
export function chart({ tastes: places, items }, { tastes, go }) {
  let here = -1;
  const about = `The ${items.length} most rated items. The nearer the rim, the more an item is of one taste.`;
  const told = note(about);
  const open = () => items[here] && go(itemAt(items[here].id));
  const look = (at, aloud) => {
    box.querySelector(".here")?.classList.remove("here");
    const item = items[here = at];
    if (!item) return told.replaceChildren(about);
    box.querySelector(`[data-at="${at}"]`).classList.add("here");
    told.replaceChildren(h("b", {}, item.title), ` ${tastes[item.taste - 1].name}, ${many(item.ratings, "rating")}`);
    if (aloud) announce(told.textContent);
  };
  const pointed = (event) => look(Number(event.target.dataset.at ?? -1));
  const box = h("div", {
    class: "map", tabindex: 0, role: "application",
    "aria-label": "Map of items: arrow keys go through them, Enter opens one. The tastes are below.",
    pointerover: pointed,
    click: (event) => { pointed(event); open(); },
    keydown: (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter") open();
      if (!step) return;
      event.preventDefault();
      look((here + step + items.length) % items.length, true);
    },
  });
  new ResizeObserver(() => box.clientWidth && box.replaceChildren(picture(places, items, tastes, box.clientWidth))).observe(box);
  return h("figure", {}, told, box);
}

function picture(places, items, tastes, width) {
  const radius = width < WIDE ? width / 2 - 26 : Math.min(300, width * 0.27);
  const height = 2 * radius + 60;
  const most = Math.max(...items.map((item) => item.ratings));
  const dots = apart(items.map((item) => ({
    x: (item.x * 2 - 1) * radius, y: (item.y * 2 - 1) * radius, r: radius / 300 * (2.5 + 6 * Math.sqrt(item.ratings / most)),
  })), radius);
  const rim = radius + 8;
  const spokes = places.map(({ taste, x, y }) => ({ taste, x: (2 * x - 1) * rim, y: (2 * y - 1) * rim }));
  return s("svg", { width, height, viewBox: `${-width / 2} ${-height / 2} ${width} ${height}`, "aria-hidden": "true" },
    s("circle", { class: "rim", r: rim }),
    dots.map(({ x, y, r }, at) => s("circle", { class: `dot taste-${items[at].taste}`, cx: x, cy: y, r, "data-at": at })),
    width < WIDE ? spokes.map(({ taste, x, y }) => name(taste, [taste], x * (1 + 9 / rim), y * (1 + 9 / rim), "middle"))
      : [-1, 1].flatMap((side) => names(spokes.filter(({ x }) => (x < 0 ? -1 : 1) === side), side, tastes, rim, width, height)));
}

/** The dots pushed apart until they hardly touch, and kept inside. From left to right, so that few pairs are looked at. */
function apart(dots, radius) {
  const sorted = [...dots];
  const reach = 2 * Math.max(...dots.map((dot) => dot.r)) + 1;
  for (let step = 0; step < STEPS; step++) {
    sorted.sort((a, b) => a.x - b.x).forEach((one, at) => {
      for (let next = at + 1; sorted[next]?.x < one.x + reach; next++) {
        const other = sorted[next];
        const [x, y] = [other.x - one.x, other.y - one.y];
        const far = Math.hypot(x, y) || 1;
        const push = Math.max(0, (one.r + other.r + 1) / far - 1) / 2;
        one.x -= push * x; one.y -= push * y;
        other.x += push * x; other.y += push * y;
      }
      const out = Math.max(1, Math.hypot(one.x, one.y) / (radius - one.r));
      one.x /= out; one.y /= out;
    });
  }
  return dots;
}

/** The names of one side in a column, each as near to its spoke as the others let it. */
function names(spokes, side, tastes, rim, width, height) {
  spokes.sort((a, b) => a.y - b.y);
  const step = Math.min(38, height / (spokes.length + 1));
  const heights = spokes.map(({ y }) => y);
  heights.forEach((y, at) => { if (at) heights[at] = Math.max(y, heights[at - 1] + step); });
  for (let at = heights.length - 1, most = height / 2 - 24; at >= 0; at--, most = heights[at + 1] - step) {
    heights[at] = Math.min(heights[at], most);
  }
  const letters = (width / 2 - rim - 30) / 6.4;
  return spokes.map(({ taste, x, y }, at) => [
    s("path", { class: `spoke taste-${taste}`, d: `M${x},${y}L${side * (rim + 18)},${heights[at]}` }),
    name(taste, tastes[taste - 1].name.split(/: ([^·]+)$/, 2).map((text) =>
      text.length > letters ? `${text.slice(0, letters - 1)}…` : text),
    side * (rim + 26), heights[at], side < 0 ? "end" : "start"),
  ]);
}

const name = (taste, lines, x, y, anchor) => s("a", { href: `/taste/${taste}`, tabindex: -1, "text-anchor": anchor },
  lines.map((text, at) => s("text", { x, y: y + 4 + 16 * at, class: at && "less" }, text)));
