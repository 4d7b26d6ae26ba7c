/* Options that were kept, in memory only, and what can be taken away: letter, report, print. */

import { data, h, icon } from "./dom.js";
import { t } from "./format.js";
import { actions, card } from "./options.js";

const MOST = 5;

export function kept(state) {
  const { app } = state;
  const mine = app.kept.filter((one) => one.who === state.name);
  const others = app.kept.filter((one) => one.who !== state.name);
  return h(
    "div.kept",
    {},
    h("div.toolbar", {}, h("h2", {}, t("keptTitle")), mine.length ? actions(state, mine.slice(0, MOST).map(({ option }) => option)) : null),
    h("p.lead.small", {}, t("keptLead")),
    mine.length ? list(state, mine) : h("div.empty", {}, icon("pin"), h("p", {}, t("keptNone"))),
    others.length ? [h("h3", {}, t("keptOthers")), list(state, others)] : null,
  );
}

function list(state, found) {
  return h(
    "div.cards",
    {},
    found.map((one, i) => {
      const remove = h("button.icon-button", { type: "button", onclick: () => { state.app.kept.splice(state.app.kept.indexOf(one), 1); state.app.refresh(); } }, icon("close"), t("remove"));
      const node = card(state, one.option, i, { compact: true });
      node.id = "";
      node.querySelector(".badges").prepend(h("span.badge.plain", {}, icon("person"), data(one.who)));
      node.querySelector("header").append(h("div.actions", {}, remove));
      return node;
    }),
  );
}
