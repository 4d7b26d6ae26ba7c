/* The table of people: search, filter by decision, pages. */

import { get, replaced } from "./api.js";
import { data, h, icon, later, replace, segments } from "./dom.js";
import { group, shown, t, title, whole } from "./format.js";
import { decision, gauge } from "./parts.js";
import { say, sentence } from "./toast.js";

const PAGE = 25;
const FACTS = 3;

export function people(app) {
  // what was searched for is still there when one comes back
  const asked = (app.memory.people ??= { search: "", decision: "refused", offset: 0 });
  const facts = columns(app.schema.features);
  const body = h("tbody");
  const below = h("div.pages");
  const count = h("p.count", { role: "status" });
  const table = h(
    "table.people",
    {},
    h("caption.hidden-text", {}, t("people")),
    h("thead", {}, h("tr", {}, [t("person"), t("decision"), t("score"), ...facts.map((feature) => data(title(feature)))].map((name) => h("th", { scope: "col" }, name)))),
    body,
  );

  async function load() {
    const query = new URLSearchParams({ search: asked.search, decision: asked.decision, offset: asked.offset, limit: PAGE });
    try {
      const answer = await get(`people?${query}`, { lane: "people" });
      fill(answer);
    } catch (error) {
      if (!replaced(error)) replace(body, h("tr", {}, h("td", { colspan: 3 + facts.length }, sentence(error))));
    }
  }

  function fill({ total, people: found }) {
    const last = Math.min(total, asked.offset + found.length);
    count.textContent = total ? t("peopleCount", whole(asked.offset + 1), whole(last), whole(total)) : t("nobodyFound");
    replace(body, found.map((one) => row(one)));
    replace(
      below,
      total > PAGE
        ? [
            h("button.quiet", { type: "button", disabled: asked.offset === 0, onclick: () => turn(-PAGE) }, icon("back"), t("previous")),
            h("button.quiet", { type: "button", disabled: last >= total, onclick: () => turn(PAGE) }, t("next"), icon("next")),
          ]
        : [],
    );
  }

  function turn(by) {
    asked.offset = Math.max(0, asked.offset + by);
    load();
    table.scrollIntoView({ block: "start" });
  }

  function row(one) {
    const open = () => app.go("person", { id: one.id });
    return h(
      "tr",
      { onclick: open },
      h("th", { scope: "row" }, h("button.name", { type: "button", onclick: (event) => { event.stopPropagation(); open(); } }, data(one.id))),
      h("td", { "data-name": t("decision") }, decision(app.schema, one.accepted, one.decision)),
      h("td.score", { "data-name": t("score") }, gauge(one, { small: true }).node),
      facts.map((feature) => h("td.fact", { "data-name": title(feature) }, data(shown(one.record[feature.name], feature)))),
    );
  }

  const search = later((text) => {
    Object.assign(asked, { search: text, offset: 0 });
    load().then(() => say(count.textContent));
  }, 200);
  load();
  const node = h(
    "div.start",
    {},
    h(
      "div.intro",
      {},
      h("p.eyebrow", {}, data(app.schema.title ?? "")),
      h("h1", {}, t("startTitle")),
      h("p.lead", {}, t("startLead")),
    ),
    h(
      "div.filters",
      {},
      h("label.search", {}, icon("search"), h("span.hidden-text", {}, t("search")), h("input", { type: "search", value: asked.search, placeholder: t("searchPeople"), oninput: (event) => search(event.target.value) })),
      segments(
        t("decision"),
        [["refused", group(app.schema, false)], ["accepted", group(app.schema, true)], ["all", t("all")]],
        asked.decision,
        (value) => { Object.assign(asked, { decision: value, offset: 0 }); load(); },
      ),
      h("button.secondary", { type: "button", onclick: () => app.go("form") }, icon("edit"), t("typeInInstead")),
    ),
    count,
    h("div.wide", { tabindex: 0, role: "region", "aria-label": t("people") }, table),
    below,
  );
  return { node, title: t("people") };
}

/** The features that say most about a person at a glance: those that may change come first, numbers before levels. */
function columns(features) {
  const rank = (feature) => (feature.immutable ? 2 : 0) + (feature.levels ? 1 : 0);
  return [...features].filter((feature) => !feature.computed).sort((a, b) => rank(a) - rank(b)).slice(0, FACTS);
}
