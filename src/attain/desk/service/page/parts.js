/* Parts that several views share: the gauge, the line of percentiles, badges, fields for values. */

import { at, data, fresh, h, icon, s } from "./dom.js";
import { bare, isSpecial, number, numeric, own as worded, points, shown, step, t, title, unit, verdict, whole } from "./format.js";

const TONES = { typical: "good", unusual: "fair" };

/** The decision as a pill. */
export function decision(schema, accepted, label) {
  return h(accepted ? "span.decision.yes" : "span.decision.no", {}, icon(accepted ? "check" : "close"), data(verdict(schema, accepted, label)));
}

/** A bar from 0 to 100 points with a mark where the decision flips. Returns the element and `set(answer)`. */
export function gauge(answer, { small = false } = {}) {
  const fill = h("span.fill");
  const value = h("strong");
  const words = h("span.gauge-words");
  const node = h(
    small ? "div.gauge.small" : "div.gauge",
    {},
    h("div.gauge-line", { role: "img" }, fill, at(h("span.turn"), 50)),
    h("div.gauge-text", {}, value, words),
  );
  function set({ score, accepted }) {
    const shownScore = score === null || score === undefined ? null : Math.abs(score) <= 1 ? points(score) : null;
    node.classList.toggle("yes", accepted);
    node.hidden = score === null || score === undefined;
    if (node.hidden) return;
    const place = shownScore ?? points(Math.tanh(score));
    fill.style.width = `${place}%`;
    value.textContent = shownScore === null ? number(score) : whole(shownScore);
    words.textContent = shownScore === null ? t("scoreFromZero") : t("pointsOf100");
    node.firstChild.setAttribute("aria-label", shownScore === null ? `${number(score)} ${t("scoreFromZero")}` : t("pointsSaid", place));
  }
  set(answer);
  return { node, set };
}

/** 100 people in order, as a line: where somebody is now, where they would be, and the range that does as well. */
export function rail({ now = null, next = null, low = null, high = null }) {
  const line = h("div.rail", { "aria-hidden": "true" });
  if (low !== null && high !== null) line.append(at(h("span.band"), low, Math.max(1.5, high - low)));
  if (now !== null && next !== null) line.append(at(h("span.path"), Math.min(now, next), Math.abs(next - now)));
  if (now !== null) line.append(at(h("span.now"), now));
  if (next !== null) line.append(at(h(next >= (now ?? 0) ? "span.next.up" : "span.next.down"), next));
  return line;
}

/** The levels of a feature without an order, as dots. */
export function dots(feature, now, next, others = []) {
  if (!feature.levels || feature.levels.length > 24) return h("div.dots", { "aria-hidden": "true" });
  return h(
    "div.dots",
    { "aria-hidden": "true" },
    feature.levels.map(({ value }) => h(value === next ? "i.next" : value === now ? "i.now" : others.includes(value) ? "i.band" : "i")),
  );
}

export function badge(kind, text, name) {
  return h(`span.badge.${kind}`, {}, name ? icon(name) : null, text);
}

/** What a record is like beside real people, in one word, and which of its changes nobody has reviewed. */
export function likeness({ verdict: word, unreviewed = [] }, features) {
  const tone = TONES[word] ?? "bad";
  const names = unreviewed.map((name) => title(features.get(name) ?? { name }));
  return [
    word ? badge(tone, t(`verdict_${word}`), tone === "good" ? "check" : "warn") : null,
    names.length ? badge("fair", data(t("notReviewed", names)), "warn") : null,
  ];
}

/** Values for a slider: the limits of the schema, or what real people have. */
export function limits(feature, ...values) {
  const seen = feature.quantiles ?? [];
  const wanted = values.filter((value) => typeof value === "number" && !isSpecial(value, feature));
  const low = Math.min(feature.low ?? Infinity, ...(feature.low === null ? [seen[0] ?? 0] : []), ...wanted);
  const high = Math.max(feature.high ?? -Infinity, ...(feature.high === null ? [seen[100] ?? 1] : []), ...wanted);
  return [low, high > low ? high : low + 1];
}

/** The step of a slider, fine enough for its range. */
function fineness(feature, low, high) {
  const own = step(feature);
  if (own) return own;
  return 10 ** Math.floor(Math.log10((high - low) / 200 || 1));
}

/** How many real people have which value, from their quantiles: heights of so many bars, the tallest 1. */
function heights(feature, low, high, bars) {
  const seen = feature.quantiles;
  if (!seen || high <= low) return null;
  const counts = new Array(bars).fill(0);
  const place = (value) => ((value - low) / (high - low)) * bars;
  for (let i = 0; i < 100; i += 1) {
    // one in a hundred people lies between two neighbouring quantiles
    const [from, to] = [place(seen[i]), place(seen[i + 1])];
    const [first, last] = [Math.floor(from), Math.min(bars - 1, Math.floor(to))];
    for (let bar = Math.max(0, first); bar <= last; bar += 1) {
      const share = to > from ? (Math.min(to, bar + 1) - Math.max(from, bar)) / (to - from) : 1 / (last - first + 1);
      counts[bar] += Math.max(0, share);
    }
  }
  const most = Math.max(...counts);
  return most > 0 ? counts.map((count) => count / most) : null;
}

/** The bars as a picture; those of values that would be accepted are coloured once `verdicts` are set. */
function histogram(feature, low, high, own) {
  const bars = 48;
  const found = heights(feature, low, high, bars);
  const picture = s("svg.histogram", { viewBox: `0 0 ${bars} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
  if (found) {
    picture.append(...found.map((height, i) => s("rect", { x: i + 0.08, width: 0.84, y: 10 - Math.max(0.4, 10 * Math.sqrt(height)), height: Math.max(0.4, 10 * Math.sqrt(height)) })));
  }
  const strip = h("div.strip", { "aria-hidden": "true" });
  const mark = typeof own === "number" && !isSpecial(own, feature) ? at(h("span.own"), (100 * (own - low)) / (high - low)) : null;
  const node = h("div.behind", {}, picture, strip, mark);
  /** Colours where the decision would be the desired one: values in order, and a verdict for each. */
  function set(values, verdicts) {
    strip.replaceChildren();
    values.forEach((value, i) => {
      if (!verdicts[i]) return;
      const left = i ? (values[i - 1] + value) / 2 : low;
      const right = i + 1 < values.length ? (values[i + 1] + value) / 2 : high;
      strip.append(at(h("span"), (100 * (left - low)) / (high - low), (100 * (right - left)) / (high - low)));
    });
    [...picture.children].forEach((bar, i) => {
      const middle = low + ((i + 0.5) / bars) * (high - low);
      let nearest = 0;
      values.forEach((value, j) => {
        if (Math.abs(value - middle) < Math.abs(values[nearest] - middle)) nearest = j;
      });
      bar.classList.toggle("yes", Boolean(verdicts[nearest]));
    });
  }
  return { node, set };
}

const UNKNOWN = "";

/** A control for one value: a slider with a number beside it, or a list. Returns {node, get, set, mark}. */
export function field(feature, value, onchange, { slider = false, own = null } = {}) {
  const id = fresh("field");
  return numeric(feature) ? numberField(feature, value, onchange, id, slider, own) : levelField(feature, value, onchange, id, slider);
}

function describedBy(feature, id) {
  return feature.help ? h("p.help", { id: `${id}-help` }, data(worded(feature, "help"))) : null;
}

function numberField(feature, value, onchange, id, slider, own) {
  const [low, high] = limits(feature, value, own);
  const fine = fineness(feature, low, high);
  const help = describedBy(feature, id);
  const states = [
    ...(feature.special ?? []).map((one) => [one.value, bare(one.value, feature)]),
    ...(feature.missing ? [[null, t("unknown")]] : []),
  ];
  let held = value;
  const box = h("input.number", {
    type: "number", id, inputmode: "decimal", step: step(feature) ?? "any", min: feature.low, max: feature.high,
    "aria-describedby": help ? `${id}-help` : null,
    onchange: () => take(box.value === "" ? null : Number(box.value), "box"),
  });
  const range = slider
    ? h("input", { type: "range", min: low, max: high, step: fine, "aria-label": title(feature), oninput: () => take(Number(range.value), "range") })
    : null;
  const behind = slider ? histogram(feature, low, high, own) : null;
  const choice = states.length
    ? h(
        "select",
        { "aria-label": t("orState", title(feature)), onchange: () => take(choice.value === "number" ? (feature.default ?? low) : states[Number(choice.value)][0]) },
        h("option", { value: "number" }, t("aNumber")),
        states.map(([, text], i) => h("option", { value: i }, text)),
      )
    : null;
  function show() {
    const state = states.findIndex(([code]) => code === held || (code === null && held === undefined));
    if (choice) choice.value = state < 0 ? "number" : state;
    box.hidden = state >= 0 && Boolean(choice);
    box.value = state >= 0 || held === null || held === undefined ? UNKNOWN : Number(Number(held).toPrecision(6));
    if (range) {
      range.value = state >= 0 || typeof held !== "number" ? low : held;
      range.setAttribute("aria-valuetext", shown(held, feature));
      range.classList.toggle("off", state >= 0);
    }
  }
  function take(given, source) {
    held = given;
    if (source !== "box" || given === null) show();
    else if (range) range.value = given;
    onchange(held);
  }
  show();
  const node = h(
    slider ? "div.field.slide" : "div.field",
    {},
    h("label", { for: id }, data(title(feature))),
    h("div.inputs", {}, box, unit(feature) ? h("span.unit", {}, data(unit(feature))) : null, choice),
    slider ? h("div.slider", {}, behind.node, range) : null,
    help,
    !slider && feature.low !== null && feature.high !== null && feature.low !== undefined ? h("p.limits-text", {}, t("between", bare(feature.low, feature), bare(feature.high, feature))) : null,
  );
  return {
    node,
    get: () => held,
    set: (given) => { held = given; show(); },
    /** Values to ask about, and how to show what the decisions would be. */
    sweep: slider ? { values: spread(low, high, fine, 25), set: behind.set } : null,
  };
}

function spread(low, high, fine, most) {
  const steps = Math.floor((high - low) / fine + 1e-9);
  const number = Math.min(most, steps + 1);
  return Array.from({ length: number }, (_, i) => Number((low + Math.round((i * steps) / Math.max(1, number - 1)) * fine).toPrecision(12)));
}

function levelField(feature, value, onchange, id, slider) {
  const help = describedBy(feature, id);
  let held = value;
  const options = [...feature.levels.map((one) => one.value), ...(feature.missing ? [null] : [])];
  if (!slider || options.length > 12) {
    const known = options.some((one) => one === held);
    const select = h(
      "select",
      { id, "aria-describedby": help ? `${id}-help` : null, onchange: () => { held = options[Number(select.value)]; onchange(held); } },
      known ? null : h("option", { value: -1 }, held === null || held === undefined ? t("choose") : String(held)),
      options.map((one, i) => h("option", { value: i }, bare(one, feature))),
    );
    const show = () => { select.value = options.findIndex((one) => one === held); };
    show();
    return {
      node: h("div.field", {}, h("label", { for: id }, data(title(feature))), h("div.inputs", {}, select), help),
      get: () => held, set: (given) => { held = given; show(); }, sweep: null,
    };
  }
  const pills = options.map((one) =>
    h("label.pill", {}, h("input", { type: "radio", name: id, checked: one === held, onchange: () => { held = one; onchange(held); } }), h("span", {}, data(bare(one, feature)))),
  );
  return {
    node: h("fieldset.field.slide.pills", {}, h("legend", {}, data(title(feature))), h("div.row", {}, pills), help),
    get: () => held,
    set: (given) => { held = given; pills.forEach((pill, i) => { pill.firstChild.checked = options[i] === held; }); },
    sweep: {
      values: options,
      set: (_, verdicts) => pills.forEach((pill, i) => pill.classList.toggle("yes", Boolean(verdicts[i]))),
    },
  };
}
