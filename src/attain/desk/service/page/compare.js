/* Several methods for the same person, side by side. */

import { post, replaced } from "./api.js";
import { data, h, icon, replace } from "./dom.js";
import { bare, number, said, shown, t, title, whole } from "./format.js";
import { likeness } from "./parts.js";
import { sentence } from "./toast.js";

export function compare(state) {
  const { app } = state;
  const chosen = (app.memory.methods ??= new Set(app.schema.methods.slice(0, 3)));
  const out = h("div.methods-found");
  const button = h("button.primary", { type: "button", onclick: run }, t("compareNow"));

  function asked() {
    return { ...state.wishes(), n: 1 };
  }

  async function run() {
    button.disabled = true;
    replace(out, h("p.waiting", { role: "status" }, t("comparing")));
    try {
      const answer = await post("compare", { ...asked(), methods: app.schema.methods.filter((name) => chosen.has(name)) }, { lane: "compare" });
      replace(out, table(state, answer.methods));
    } catch (error) {
      if (!replaced(error)) replace(out, h("p.error", { role: "alert" }, sentence(error)));
    }
    button.disabled = false;
  }

  return h(
    "div.compare",
    {},
    h("h2", {}, t("compareTitle")),
    h("p.lead.small", {}, t("compareLead")),
    h(
      "fieldset.methods",
      {},
      h("legend", {}, t("methods")),
      app.schema.methods.map((name) =>
        h("label.pill", {}, h("input", { type: "checkbox", checked: chosen.has(name), onchange: (event) => { if (event.target.checked) chosen.add(name); else chosen.delete(name); button.disabled = !chosen.size; } }), h("span", {}, name)),
      ),
    ),
    button,
    out,
  );
}

function table(state, found) {
  return h("div.side-by-side", { tabindex: 0, role: "region", "aria-label": t("compareTitle") }, found.map((one) => column(state, one)));
}

function column(state, { method: name, error, errors, answer }) {
  const option = answer?.options[0];
  const heading = [h("h3", {}, data(name)), t(`method_${name}`) ? h("p.hint", {}, t(`method_${name}`)) : null];
  if (!option) return h("article.card.method", {}, heading, h("p", {}, data(answer ? said(answer, "reason") : said({ error, errors }, "error"))));
  return h(
    "article.card.method",
    {},
    heading,
    h("div.badges", {}, likeness(option, state.app.features)),
    h(
      "dl.moves",
      {},
      option.changes.map((change) => {
        const feature = state.app.features.get(change.feature) ?? change;
        return h("div", {}, h("dt", {}, data(title(feature))), h("dd", {}, h("span.from", {}, data(bare(change.current, feature))), " → ", h("b", {}, data(shown(change.suggested, feature)))));
      }),
    ),
    h("p.measures", {}, h("span", {}, t("effort", whole(option.total_shift))), h("span", {}, t("changesCount", option.changes.length)), h("span", {}, t("seconds", number(answer.seconds, 0.1)))),
    h("button.icon-button", { type: "button", onclick: () => state.tryFrom(option.record) }, icon("tune"), t("tryIt")),
  );
}
