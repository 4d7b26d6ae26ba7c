/* Values to try: a slider for each feature, with the decision, the level, broken rules and limits as they move. */

import { post, replaced } from "./api.js";
import { data, h, later, replace } from "./dom.js";
import { goal, own, shown, t, title, whole } from "./format.js";
import { badge, decision, field, gauge, likeness } from "./parts.js";
import { sentence } from "./toast.js";

const MOST_RECORDS = 100;

/** Lets the keyboard reach a part that scrolls. */
function reachable(node) {
  if (node.scrollHeight > node.clientHeight) node.tabIndex = 0;
  else node.removeAttribute("tabindex");
}

export function tryout(state) {
  const { app, record, answer } = state;
  state.trial ??= { ...(answer?.options?.[0]?.record ?? record) };
  const free = app.schema.features.filter((feature) => !feature.immutable && !feature.computed);
  const fields = new Map(free.map((feature) => [feature.name, field(feature, state.trial[feature.name], (value) => { state.trial[feature.name] = value; moved(); }, { slider: true, own: record[feature.name] })]));
  const follow = app.schema.features.some((feature) => feature.computed) ? { edited_from: record } : {};
  const meter = gauge(state.decided);
  const said = h("div.said");
  const broken = h("ul.broken", { "aria-live": "polite" });
  const measures = h("p.measures");
  const changed = h("p.changed");
  const problem = h("p.error", { role: "alert", hidden: true });

  function differences() {
    return free.filter((feature) => state.trial[feature.name] !== record[feature.name]);
  }

  async function judge() {
    try {
      const found = await post("evaluate", { ...state.wishes(), answer: state.trial }, { lane: "judge" });
      const wrong = [...found.broken.map((rule) => own(rule, "sentence")), ...found.violated.map((kind) => t(`violated_${kind}`) ?? kind)];
      problem.hidden = true;
      meter.set({ score: found.score, accepted: found.flips });
      replace(said, decision(app.schema, found.flips, found.decision), likeness(found, app.features), wrong.length ? badge("bad", t("rulesBroken", wrong.length), "warn") : null);
      replace(broken, wrong.map((text) => h("li", {}, data(text))));
      reachable(broken);
      replace(
        measures,
        found.changed.length && found.total_shift !== null ? h("span", {}, t("effort", whole(found.total_shift))) : null,
        found.months ? h("span", {}, t("takes", found.months)) : null,
      );
    } catch (error) {
      if (replaced(error)) return;
      problem.hidden = false;
      problem.textContent = sentence(error);
    }
  }

  /** Asks what the decision would be for every value of every slider, the others as they are. */
  async function shade() {
    const asked = free.flatMap((feature) => (fields.get(feature.name).sweep?.values ?? []).map((value) => ({ ...state.trial, [feature.name]: value })));
    const verdicts = [];
    const most = app.schema.limits?.rows ?? MOST_RECORDS;
    try {
      for (let i = 0; i < asked.length; i += most) {
        const { answers } = await post("predict", { records: asked.slice(i, i + most), ...follow }, { lane: "shade" });
        verdicts.push(...answers.map((one) => one.accepted));
      }
    } catch {
      return;  // the colours are a help and come back with the next move
    }
    let start = 0;
    for (const feature of free) {
      const sweep = fields.get(feature.name).sweep;
      if (!sweep) continue;
      sweep.set(sweep.values, verdicts.slice(start, start + sweep.values.length));
      start += sweep.values.length;
    }
  }

  const judgeSoon = later(judge, 60);
  const shadeSoon = later(shade, 350);
  function moved() {
    const different = differences();
    replace(changed, different.length ? [t("changedHere"), " ", different.map((feature) => h("span.chip", {}, data(title(feature)), " ", h("s", {}, data(shown(record[feature.name], feature))), " → ", h("b", {}, data(shown(state.trial[feature.name], feature)))))] : t("nothingChanged"));
    requestAnimationFrame(() => reachable(changed));
    for (const feature of free) fields.get(feature.name).node.classList.toggle("differs", different.includes(feature));
    judgeSoon();
    shadeSoon();
  }

  function from(values) {
    state.trial = { ...values };
    for (const [name, one] of fields) one.set(state.trial[name]);
    moved();
  }

  const starts = [[t("theirRecord"), record], ...(answer?.options ?? []).map((option, i) => [t("option", i + 1), option.record])];
  const node = h(
    "div.tryout",
    {},
    h("div.live", { role: "group", "aria-label": t("liveResult") }, h("div.live-head", {}, meter.node, said), problem, broken, changed, measures),
    h("div.starts", { role: "group", "aria-label": t("startFrom") }, h("span.hint", {}, t("startFrom")), starts.map(([name, values]) => h("button.secondary.small", { type: "button", onclick: () => from(values) }, name))),
    h("p.hint.key", {}, h("span.swatch.yes"), data(t("shadeKey", goal(app.schema))), h("span.swatch.tick"), t("ownKey")),
    h("div.sliders", {}, free.map((feature) => fields.get(feature.name).node)),
  );
  moved();
  return node;
}
