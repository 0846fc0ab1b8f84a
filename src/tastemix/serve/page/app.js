// The pages, each its title and what is on it, and the frame around them: addresses, search, loading, errors.

import { chart, line, mix, recommended, unfolding } from "./charts.js";
import {
  announce, ask, at, count, empty, fixed, forget, h, itemAt, known, lead, many, note, paint, problem, refusal, search, section, spot,
  stars, table, toItem, toPerson, toTaste,
} from "./parts.js";


const OFFERED = 12;
const MAP = "map?n=500";
const UNTOLD = "This model was saved without its ratings and does not tell.";

/** All tastes: a map of items, and what is typical of each taste. */
async function overview(common) {
  const { model, tastes } = common;
  if (!tastes.length) return ["No tastes", empty(`A ${model.method} model has none. Look for items and people above.`)];
  const map = await known(MAP);
  return [many(tastes.length, "taste"),
    lead(`Every prediction here is a sum of tastes, learnt from what ${count(model.users)} people said about `,
      `${count(model.items)} items. `, h("a", { href: "/you" }, "Rate a few items and see yours.")),
    chart(map, common),
    section("The tastes", h("ol", { class: "cards" }, tastes.map((taste) =>
      h("li", { class: `taste-${taste.taste}` }, h("h3", {}, toTaste(taste)),
        h("ol", {}, taste.items.slice(0, 6).map((item) => h("li", {}, toItem(item)))),
        note(`Taste ${taste.taste}, adds ${fixed(taste.adds)} for the average person`)))))];
}

/** One taste: related ones, typical items, and a new name on a local server. */
async function taste(common, number) {
  const found = await ask(`tastes/${number}`);
  const name = found.label ?? found.name;
  const most = found.items[0]?.typical || 1;
  return [name,
    lead(spot(found), `Taste ${found.taste} of ${common.tastes.length}. It adds ${fixed(found.adds)} for the average person.`,
      found.label && ` By its items it is ${found.name}.`),
    common.model.renames && renaming(found, common),
    section("Related tastes", h("ul", { class: "chips" }, found.near.map((near) => h("li", {}, toTaste(near, spot(near)))))),
    section("Typical items", note("By what the taste adds for those who rated the item."),
      table(`Items typical of ${name}`, ["Item", h("span", {}), "Adds"], found.items.map((item) =>
        [toItem(item), line(found.taste, item.typical / most), fixed(item.typical)])))];
}

function renaming({ taste: number, name, label }, common) {
  const field = h("input", { id: "label", maxlength: 60, value: label ?? "", placeholder: name });
  const form = h("form", { hidden: true, submit: (event) => {
    event.preventDefault();
    ask(`tastes/${number}`, { method: "PUT", body: { label: field.value.trim() || null } })
      .then(common.again).then(() => announce("Renamed"), (error) => form.append(problem(error.message)));
  } }, h("label", { for: "label" }, "Name"), field, h("button", {}, "Keep"));
  return [unfolding("Rename", form, () => field.focus()), form];
}

/** One item: its mix of tastes, what is like it and who likes it. */
async function item(common, id) {
  const [found, similar] = await Promise.all([
    ask(at("items", id)), ask(`${at("items", id)}/similar`).catch(() => ({ items: [] }))]);
  return [found.title,
    lead(rated(found), found.words.length > 0 && ` · ${found.words.join(", ")}`),
    found.tastes.length > 0 && mix("Its tastes", found.tastes, common, "adds"),
    h("div", { class: "two" },
      section("Items like it", similar.items.length
        ? table("Items like it", ["Item", "Alike"], similar.items.map((other) =>
          [toItem(other), `${fixed(100 * other.similarity, 0)} %`]))
        : empty("Nothing is like it.")),
      section("Who likes it", found.likers
        ? table("Who likes it", ["Person", "Rated it", "Rates on average"], found.likers.map((who) =>
          [toPerson(who.id), stars(who.rating), who.mean === null ? "" : fixed(who.mean)]))
        : empty(UNTOLD)))];
}

/** One person: their mix of tastes, what to recommend them and why, and what they rated. */
async function person(common, id) {
  const user = at("users", id);
  const [found, best] = await Promise.all([ask(user), ask(`${user}/recommendations?parts=true`).catch((error) => error)]);
  const because = async (one) => (await ask(`${user}/${at("items", one.id)}/explanation`)).parts
    .filter((part) => part.taste && part.because.length);
  return [`Person ${found.id}`, lead(rated(found)),
    found.tastes.length > 0 && mix("Their tastes", found.tastes, common, "weight"),
    section("Recommended", best.items ? recommended(best.items, common, because) : empty(best.message)),
    section("What they rated highest", found.rated
      ? h("ul", { class: "rated" }, found.rated.map((one) => h("li", {}, h("b", {}, stars(one.rating)), toItem(one))))
      : empty(UNTOLD))];
}

const rated = ({ ratings, mean }) => many(ratings, "rating") + (mean === null ? "" : `, ${fixed(mean)} on average`);

/** Methods side by side, where a report of `tastemix compare` was given; the best figures are bold. */
async function compare() {
  const { methods } = await ask("comparison");
  const columns = { rmse: "RMSE", mae: "MAE", ndcg: "NDCG", rank_score: "RankScore", catalogue_precision_at_10: "P@10" };
  const shown = Object.keys(columns).filter((name) => methods[0]?.[name] != null);
  const best = shown.map((name) => Math[["rmse", "mae"].includes(name) ? "min" : "max"](...methods.map((row) => row[name])));
  return ["Methods",
    lead("Fitted to a part of the ratings, judged on the rest. RMSE and MAE are better when low."),
    h("div", { class: "wide", tabindex: 0 }, table("Methods", ["Method", ...shown.map((name) => columns[name])], methods.map((row) =>
      [row.method, ...shown.map((name, at) => h(row[name] === best[at] ? "b" : "span", {}, fixed(row[name], 3)))])))];
}

/** The ratings in the address, ?r=2571:5&r=1:4. The last colon divides, since ids may have their own. */
function given() {
  const pairs = new URLSearchParams(location.search).getAll("r").map((text) => /^(.+):(.+)$/s.exec(text) ?? []);
  return new Map(pairs.filter(([, , rating]) => Number.isFinite(Number(rating))).map(([, id, rating]) => [id, Number(rating)]));
}

/** Someone new: rate a few items and see what is recommended at once. The ratings are kept in the address only. */
async function you(common) {
  const { model } = common;
  const ratings = given();
  const [popular, ...found] = await Promise.all([known(`items?n=${3 * OFFERED}`),
    ...[...ratings.keys()].map((id) => known(`${at("items", id)}?n=1`).catch(() => {}))]);
  const titles = new Map([...ratings.keys()].map((id, number) => [id, found[number]?.title]));
  const unknown = [...ratings.keys()].filter((id) => !titles.get(id));
  unknown.forEach((id) => ratings.delete(id));
  const [mine, offered, result] = [h("ul", { class: "ratings" }), h("ul", { class: "ratings" }), h("div", { class: "result" })];
  let asked;

  function rate(id, rating) {
    if (rating === undefined) ratings.delete(id);
    else ratings.set(id, rating);
    const pairs = [...ratings].map(([each, value]) => `r=${encodeURIComponent(each)}:${value}`);
    history.replaceState(history.state, "", pairs.length ? `/you?${pairs.join("&")}` : "/you");
    const focused = document.activeElement.id;
    list();
    document.getElementById(focused)?.focus();
    return predict();
  }

  function list() {
    mine.replaceChildren(...[...ratings.keys()].reverse().map(line));
    offered.replaceChildren(...popular.items.map(({ id, title }) => [String(id), title])
      .filter(([id]) => !ratings.has(id)).slice(0, OFFERED).map(([id, title]) => titles.set(id, title) && line(id)));
  }

  const line = (id) => h("li", {}, toItem({ id, title: titles.get(id) }),
    rater(id, titles.get(id), ratings.get(id), model, (rating) => rate(id, rating)),
    ratings.has(id) && h("button", { type: "button", "aria-label": `Take back ${titles.get(id)}`, click: () => rate(id) }, "×"));

  async function predict() {
    asked?.abort();
    const { signal } = asked = new AbortController();
    if (!ratings.size) return result.replaceChildren(section("For you", empty("Rate something, and it starts here.")));
    const body = { ratings: [...ratings].map(([item, rating]) => ({ item, rating })) };
    try {
      const { items, tastes } = await ask("people", { method: "POST", body, signal });
      result.replaceChildren(section("For you", recommended(items, common)), mix("Your mix", tastes, common, "weight"));
      announce(items.length ? `${items.length} recommendations, the first is ${items[0].title}` : "");
    } catch (error) {
      if (error.name !== "AbortError") result.replaceChildren(problem(error.message));
    }
  }

  const finder = search("known", "Find something you know", [async (text, within) =>
    (await within(`items?n=8&q=${encodeURIComponent(text)}`)).items.map(({ id, title }) => ({ text: title, id: String(id) }))],
  async ({ id, text }) => {
    titles.set(id, text);
    if (!ratings.has(id)) await rate(id, model.high);
    (mine.querySelector(`[name="${CSS.escape(id)}"]:checked`) ?? document.getElementById(id))?.focus();
  });

  list();
  await predict();
  return ["Your tastes",
    lead("Rate a few items and see. Nothing is stored: the ratings are in the address of this page, to keep or to share."),
    unknown.length > 0 && problem(`Not known here and left out: ${unknown.join(", ")}.`),
    h("div", { class: "you" }, section("Your ratings", finder, mine),
      h("div", { class: "offered" }, section("Do you know these?", offered)), result)];
}

/** Buttons that look like stars, or a slider where the scale has many steps. */
function rater(id, title, rating, { low, high }, rate) {
  const name = `Your rating of ${title}`;
  const values = Array.from({ length: high - low + 1 }, (_, step) => low + step);
  if (values.length > 10 || values.at(-1) !== high) {
    return h("span", { class: "slider" }, h("input", {
      type: "range", id, "aria-label": name, min: low, max: high, step: (high - low) / 20, value: rating ?? (low + high) / 2,
      change: (event) => rate(Number(event.target.value)),
    }), h("output", {}, rating === undefined ? "–" : stars(rating)));
  }
  return h("fieldset", {}, h("legend", { class: "unseen" }, name), values.map((value) => h("label", {},
    h("input", { type: "radio", name: id, id: `${id}-${value}`, checked: value === rating, change: () => rate(value) }),
    h("span", { class: "unseen" }, value), h("span", { "aria-hidden": "true" }, "★"))));
}

const PAGES = { "": overview, taste, item, person, you, compare };
const main = document.getElementById("main");
const nav = document.getElementById("nav");
let turn = 0;

/** What all pages know: the model, its tastes, and ways to go on. */
async function common() {
  const [model, { tastes }, map] = await Promise.all([known("model"),
    ...["tastes", "map?n=1"].map((path) => known(path).catch(() => ({ tastes: [] })))]);
  const angle = ({ x, y }) => Math.atan2(y - 0.5, x - 0.5);
  map.tastes.sort((a, b) => angle(a) - angle(b))
    .forEach(({ taste, name }, turn) => Object.assign(tastes[taste - 1], { name, turn }));
  paint(tastes);
  return { model, tastes, go, again };
}

/** Show the page of the address. A page is its title and what is on it. */
async function show(scroll = 0, first = false) {
  const mine = ++turn;
  main.setAttribute("aria-busy", true);
  const [title, ...content] = await opened().catch(trouble);
  if (mine !== turn) return;
  document.title = `${title} · tastemix`;
  const heading = h("h1", { tabindex: -1 }, title);
  main.replaceChildren(heading, ...content.flat().filter(Boolean));
  main.setAttribute("aria-busy", false);
  for (const link of nav.children) link.ariaCurrent = link.pathname === location.pathname ? "page" : null;
  scrollTo(0, scroll);
  if (!first) heading.focus({ preventScroll: true });
}

async function opened() {
  const [, name, id = ""] = /^\/([^/]*)\/?(.*)$/.exec(location.pathname);
  if (!name) known(MAP);
  if (!PAGES[name]) throw refusal("No such page", "There is no page at this address.");
  return PAGES[name](await common(), decodeURIComponent(id));
}

function trouble(error) {
  if (!error.title) console.error(error);
  return [error.title ?? "Something went wrong", h("p", { class: "lead", role: "alert" }, error.message),
    h("button", { type: "button", click: () => again() }, "Try again")];
}

/** Go to another page of this site. */
function go(address) {
  history.replaceState(scrollY, "");
  history.pushState(0, "", address);
  show();
}

/** Show this page again, as the service has it now. */
function again() {
  forget();
  return show(scrollY);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const address = new URL(link.href.baseVal ?? link.href, location);
  if (address.origin !== location.origin || address.hash || !PAGES[address.pathname.split("/")[1]]) return;
  event.preventDefault();
  go(address);
});
addEventListener("popstate", (event) => show(event.state ?? 0));

/** Tastes by name, items by title, people by id. */
document.getElementById("search").append(search("found", "Search", [
  async (text) => (await common()).tastes.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .slice(0, 3).map((each) => ({ text: each.name, kind: "taste", to: `/taste/${each.taste}` })),
  async (text, ask) => (await ask(`items?n=6&q=${encodeURIComponent(text)}`)).items
    .map((each) => ({ text: each.title, kind: "item", to: itemAt(each.id) })),
  async (text, ask) => (await ask(`users?n=3&q=${encodeURIComponent(text)}`)).users
    .map((each) => ({ text: `Person ${each.id}`, kind: "person", to: `/${at("person", each.id)}` })),
], ({ to }) => go(to)));

show(0, true);
known("model").then((model) => {
  if (model.compared) nav.append(h("a", { href: "/compare" }, "Methods"));
  document.getElementById("foot").append(h("p", {}, `${model.name}: ${model.method}, ${many(model.tastes, "taste")}, `,
    model.ratings !== null && `${count(model.ratings)} ratings, `, `${count(model.items)} items, ${count(model.users)} people. `,
    h("a", { href: "/docs" }, "API")));
}, () => {});
