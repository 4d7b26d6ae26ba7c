/* The person's record, and for each feature whether and how it may change. */

import { data, fresh, h, icon, replace, segments } from "./dom.js";
import { bare, numeric, own, shown, step, t, title, unit } from "./format.js";
import { rail } from "./parts.js";
import { untouched } from "./person.js";

const HARD = ["very easy", "easy", "medium", "hard", "very hard", "impossible"];
const MOST_OPTIONS = 5;
const MOST_CHANGES = 5;
const narrow = matchMedia("(max-width: 68rem)");

export function controls(state) {
  const { app, limits } = state;
  const free = app.schema.features.filter((feature) => !feature.immutable && !feature.computed);
  const fixed = app.schema.features.filter((feature) => feature.immutable || feature.computed);
  const rows = new Map(free.map((feature) => [feature.name, row(state, feature, update)]));
  const reset = h("button.quiet.small", { type: "button", onclick: clear }, t("resetLimits"));
  const general = h("div.general");

  function update() {
    for (const one of rows.values()) one.update();
    reset.hidden = !touched(limits);
  }

  function clear() {
    Object.assign(limits, untouched(limits));
    for (const one of rows.values()) one.close();
    replace(general, overall(state, update));
    update();
    state.ask();
  }

  replace(general, overall(state, update));
  update();
  const node = h(
    "details.controls",
    { open: !narrow.matches },
    h("summary", {}, h("span.summary", {}, h("h2", {}, t("controlsTitle")), h("span.hint", {}, t("controlsHint"))), icon("down")),
    general,
    h("ul.features", {}, free.map((feature) => rows.get(feature.name).node)),
    reset,
    fixed.length
      ? h("details.fixed", {}, h("summary", {}, t("fixedTitle", fixed.length), icon("down")), h("dl", {}, fixed.map((feature) => h("div", {}, h("dt", {}, data(title(feature))), h("dd", {}, data(shown(state.record[feature.name], feature)))))))
      : null,
    rules(app.schema),
  );
  return { node, update, clear };
}

export function touched({ locked, ranges, directions, difficulty, max_changes, max_months }) {
  return locked.size > 0 || [ranges, directions, difficulty].some((one) => Object.keys(one).length) || max_changes !== null || max_months !== null;
}

/** How many changes and options at most, and how long it may take. */
function overall(state, update) {
  const { limits, app } = state;
  const set = (name, value) => { limits[name] = value; update(); state.ask(); };
  const changes = [["any", t("any")], ...Array.from({ length: MOST_CHANGES }, (_, i) => [i + 1, i + 1])];
  return [
    segments(t("maxChanges"), changes, limits.max_changes ?? "any", (value) => set("max_changes", value === "any" ? null : value)),
    segments(t("howMany"), Array.from({ length: MOST_OPTIONS }, (_, i) => [i + 1, i + 1]), limits.n, (value) => set("n", value)),
    app.schema.timed
      ? h("label.inline", {}, t("maxMonths"), h("input.number", { type: "number", min: 0, value: limits.max_months ?? "", onchange: (event) => set("max_months", event.target.value === "" ? null : Number(event.target.value)) }))
      : null,
  ];
}

function rules(schema) {
  const texts = [...schema.rules, ...schema.laws].map((rule) => own(rule, "sentence"));
  if (!texts.length) return null;
  return h("details.fixed", {}, h("summary", {}, t("rulesTitle", texts.length), icon("down")), h("ul.rules", {}, texts.map((text) => h("li", {}, data(text)))));
}

/** One feature: its value, the place among 100 people, a lock, and finer limits. */
function row(state, feature, update) {
  const { limits, record, decided } = state;
  const value = record[feature.name];
  const name = title(feature);
  const percentile = decided.percentiles?.[feature.name] ?? null;
  const id = fresh("limits");
  const panel = h("div.limits", { id, hidden: true });
  const lock = h("button.lock", { type: "button", onclick: () => state.lock(feature.name, !limits.locked.has(feature.name)) });
  const more = h(
    "button.more",
    { type: "button", "aria-expanded": "false", "aria-controls": id, "aria-label": t("moreLimits", name), title: t("moreLimits", name), onclick: () => toggle(panel.hidden) },
    icon("tune"),
  );
  const notes = h("p.notes");
  const node = h(
    "li.feature",
    {},
    h(
      "div.line",
      {},
      lock,
      h("div.what", {}, h("span.label", {}, data(name)), h("span.value", {}, data(shown(value, feature))), percentile !== null && numeric(feature) ? h("span.place", { title: t("ofHundred", Math.round(percentile)) }, rail({ now: percentile }), h("span.hidden-text", {}, t("ofHundred", Math.round(percentile)))) : null, notes),
      more,
    ),
    panel,
  );

  function toggle(on) {
    panel.hidden = !on;
    more.setAttribute("aria-expanded", String(on));
    if (on) replace(panel, finer(state, feature, changed));
  }

  function changed() {
    update();
    state.ask();
  }

  function said() {
    const texts = [];
    const range = limits.ranges[feature.name];
    if (limits.directions[feature.name]) texts.push(t(limits.directions[feature.name]));
    if (range) texts.push(range[0] === null ? t("atMost", shown(range[1], feature)) : range[1] === null ? t("atLeast", shown(range[0], feature)) : t("between", bare(range[0], feature), shown(range[1], feature)));
    if (limits.difficulty[feature.name]) texts.push(t(`hard_${limits.difficulty[feature.name]}`));
    return texts;
  }

  return {
    node,
    close: () => toggle(false),
    update() {
      const locked = limits.locked.has(feature.name);
      node.classList.toggle("locked", locked);
      lock.setAttribute("aria-pressed", String(locked));
      lock.setAttribute("aria-label", t("keepAsIs", name));
      lock.title = t(locked ? "letChange" : "keepAsIs", name);
      replace(lock, icon(locked ? "lock" : "open"));
      replace(notes, said().map((text) => h("span.note", {}, data(text))));
      notes.hidden = !notes.childNodes.length;
    },
  };
}

/** Direction, range and difficulty of one feature. */
function finer(state, feature, changed) {
  const { limits } = state;
  const put = (group, value) => {
    if (value === null) delete limits[group][feature.name];
    else limits[group][feature.name] = value;
    changed();
  };
  const ordered = numeric(feature) || feature.kind === "ordinal";
  return [
    ordered
      ? feature.direction === "increase" || feature.direction === "decrease"
        ? h("p.hint", {}, t(`always_${feature.direction}`))
        : segments(t("direction"), [["both", t("both")], ["increase", t("increase")], ["decrease", t("decrease")]], limits.directions[feature.name] ?? "both", (value) => put("directions", value === "both" ? null : value))
      : null,
    ordered ? ends(feature, limits.ranges[feature.name] ?? [null, null], (range) => put("ranges", range[0] === null && range[1] === null ? null : range)) : null,
    segments(
      t("difficulty"),
      HARD.map((value) => [value, t(`hard_${value}`)]),
      limits.difficulty[feature.name] ?? "medium",
      (value) => put("difficulty", value === "medium" ? null : value),
      { "data-kind": "difficulty" },
    ),
  ];
}

function ends(feature, range, onchange) {
  const [low, high] = [0, 1].map((side) => {
    const label = t(side ? "highest" : "lowest");
    if (!numeric(feature)) {
      const select = h(
        "select",
        { "aria-label": `${title(feature)}: ${label}`, onchange: () => take(side, select.value === "" ? null : feature.levels[Number(select.value)].value) },
        h("option", { value: "" }, t("any")),
        feature.levels.map((level, i) => h("option", { value: i }, bare(level.value, feature))),
      );
      select.value = range[side] === null ? "" : feature.levels.findIndex((level) => level.value === range[side]);
      return h("label.end", {}, label, select);
    }
    const box = h("input.number", {
      type: "number", step: step(feature) ?? "any", min: feature.low, max: feature.high, value: range[side] ?? "", placeholder: feature[side ? "high" : "low"] ?? "",
      "aria-label": `${title(feature)}: ${label}`, onchange: () => take(side, box.value === "" ? null : Number(box.value)),
    });
    return h("label.end", {}, label, box);
  });
  const take = (side, value) => {
    range = side ? [range[0], value] : [value, range[1]];
    onchange(range);
  };
  return h("div.ends", {}, low, high, numeric(feature) && unit(feature) ? h("span.unit", {}, data(unit(feature))) : null);
}
