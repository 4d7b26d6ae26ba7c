/* A form for one person, made from the schema: ranges, units and help. */

import { post } from "./api.js";
import { h, icon } from "./dom.js";
import { said, t } from "./format.js";
import { field } from "./parts.js";
import { sentence, toast } from "./toast.js";

export function form(app, details) {
  const given = details.record ?? {};
  const record = {};
  const fields = new Map();
  for (const feature of app.schema.features) {
    if (feature.computed) continue;
    record[feature.name] = feature.name in given ? given[feature.name] : (feature.default ?? null);
    fields.set(feature.name, field(feature, record[feature.name], (value) => { record[feature.name] = value; clear(feature.name); }));
  }

  function clear(name) {
    const node = fields.get(name).node;
    node.classList.remove("wrong");
    node.querySelector(".error")?.remove();
  }

  function blame(name, message) {
    const node = fields.get(name).node;
    clear(name);
    node.classList.add("wrong");
    node.append(h("p.error", { role: "alert" }, message));
  }

  async function send(event) {
    event.preventDefault();
    const empty = app.schema.features.filter((feature) => fields.has(feature.name) && !feature.missing && (record[feature.name] === null || record[feature.name] === undefined));
    empty.forEach((feature) => blame(feature.name, t("pleaseFill")));
    if (empty.length) return focus(empty[0].name);
    try {
      const { answers: [answer] } = await post("predict", { record });
      if (answer.unreadable) return toast(said(answer, "unreadable"), "bad");
      app.go("person", { record: { ...given, ...record } });
    } catch (error) {
      if (error.field && fields.has(error.field)) {
        blame(error.field, sentence(error));
        focus(error.field);
      } else toast(sentence(error), "bad");
    }
  }

  const focus = (name) => fields.get(name).node.querySelector("input, select").focus();
  const groups = [
    [t("mayChange"), app.schema.features.filter((feature) => !feature.immutable)],
    [t("staysFixed"), app.schema.features.filter((feature) => feature.immutable)],
  ];
  const node = h(
    "form.typed",
    { onsubmit: send, novalidate: true },
    h("div.intro", {}, h("h1", {}, t("typeInTitle")), h("p.lead", {}, t("typeInLead"))),
    groups.map(([name, features]) => {
      const shown = features.filter((feature) => fields.has(feature.name));
      return shown.length ? h("section.sheet", {}, h("h2", {}, name), h("div.grid", {}, shown.map((feature) => fields.get(feature.name).node))) : null;
    }),
    h("div.actions.sticky", {}, h("button.primary", { type: "submit" }, t("seeDecision"), icon("next"))),
  );
  return { node, title: t("typeIn") };
}
