/* The page: what it shows, in which language and colours. A person's id never stands in the address. */

import { get } from "./api.js";
import { h, icon, replace } from "./dom.js";
import { current, languages, speak, t } from "./format.js";
import { form } from "./form.js";
import { people } from "./people.js";
import { person } from "./person.js";
import { review } from "./review.js";
import { sentence } from "./toast.js";

const VIEWS = { people, form, person, review };
const main = document.getElementById("view");

/** What all views share: the schema, the kept options, and the way to another view. */
const app = { schema: null, features: new Map(), kept: [], memory: {}, go, refresh };

function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // a browser that keeps nothing still shows everything
  }
}

let leave = () => {};

/** Shows a view. Its details are kept by the browser's history, not in the address. */
function go(view, details = {}, { push = true } = {}) {
  if (push) history.pushState({ view, details }, "");
  show(true);
}

function place() {
  const start = app.schema.people ? "people" : "form";
  const { view, details } = history.state ?? {};
  return view in VIEWS ? { view, details: details ?? {} } : { view: start, details: {} };
}

function show(moved) {
  leave();
  const { view, details } = place();
  head(view);
  const shown = VIEWS[view](app, details);
  leave = shown.leave ?? (() => {});
  replace(main, shown.node);
  document.title = `${shown.title} · attain`;
  if (moved) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

function refresh() {
  show(false);
}

function head(view) {
  document.getElementById("skip").textContent = t("skip");
  const links = [
    ["people", t("people"), app.schema.people],
    ["form", t("typeIn"), true],
    ["review", t("review"), app.schema.review],
  ].filter(([, , there]) => there);
  const nav = document.getElementById("views");
  nav.setAttribute("aria-label", t("views"));
  replace(
    nav,
    links.map(([name, label]) =>
      h("button.view", { type: "button", "aria-current": name === view || (name === "people" && view === "person") ? "page" : null, onclick: () => go(name) }, label),
    ),
  );
  const dark = document.documentElement.dataset.theme === "dark";
  replace(
    document.getElementById("settings"),
    h(
      "div.switch",
      { role: "group", "aria-label": t("language") },
      languages.map((name) =>
        h("button", { type: "button", lang: name, "aria-pressed": String(name === current()), onclick: () => { remember("language", name); speak(name); refresh(); } }, name.toUpperCase()),
      ),
    ),
    h(
      "button.round",
      { type: "button", "aria-label": t(dark ? "lightColours" : "darkColours"), title: t(dark ? "lightColours" : "darkColours"), onclick: () => { colours(dark ? "light" : "dark", true); refresh(); } },
      icon(dark ? "sun" : "moon"),
    ),
  );
}

const preferred = matchMedia("(prefers-color-scheme: dark)");

function colours(theme, chosen = false) {
  document.documentElement.dataset.theme = theme ?? (preferred.matches ? "dark" : "light");
  if (chosen) remember("theme", theme);
}

async function start() {
  speak(remembered("language") ?? navigator.language.slice(0, 2));
  colours(remembered("theme"));
  preferred.addEventListener("change", () => { colours(remembered("theme")); refresh(); });
  try {
    app.schema = await get("schema");
  } catch (error) {
    replace(main, h("div.empty", {}, h("h1", {}, t("notAvailable")), h("p", {}, sentence(error))));
    return;
  }
  app.features = new Map(app.schema.features.map((feature) => [feature.name, feature]));
  addEventListener("popstate", () => show(true));
  show(false);
}

start();
