/* The options of a person as cards: what changes, from where to where, and how much else would do. */

import { data, h, icon, replace } from "./dom.js";
import { bare, capital, current, either, goal, list, numeric, own, points, range, said, shown, t, title, whole } from "./format.js";
import { touched } from "./controls.js";
import { badge, dots, likeness, rail } from "./parts.js";
import { sentence } from "./toast.js";

/** What options are like that flip the decision, and yet are no advice. */
const NOT_ADVISED = ["unlike anybody", "contradicts itself"];

export function options(state) {
  const { answer, failed, decided } = state;
  if (failed) return h("div.empty", {}, h("h2", {}, t("noOptions")), h("p", { role: "alert" }, sentence(failed)));
  if (!answer) return h("div.cards", {}, h("div.card.ghost"), h("div.card.ghost"));
  if (!answer.options.length) return nothing(state, decided);
  return h(
    "div",
    {},
    h(
      "div.toolbar",
      {},
      h("p.found", {}, t("optionsFound", answer.options.length), answer.options.length < state.limits.n ? h("span.hint", {}, ` ${t("fewerOptions")}`) : null),
      actions(state, null),
    ),
    h("div.cards", {}, answer.options.map((option, i) => card(state, option, i))),
    legend(answer.notes ?? []),
  );
}

/** Why nothing was found, and what could be loosened. */
function nothing(state, decided) {
  const { limits, answer, app } = state;
  if (decided.accepted) {
    return h("div.empty.happy", {}, icon("check"), h("h2", {}, t("alreadyAccepted")), h("p", {}, t("alreadyAcceptedMore")), h("button.secondary", { type: "button", onclick: () => state.tryFrom(state.record) }, t("tabTry")));
  }
  const locked = [...limits.locked].map((name) => app.features.get(name)).filter(Boolean);
  return h(
    "div.empty",
    {},
    icon("search"),
    h("h2", {}, t("noOptions")),
    h("p", {}, data(said(answer, "reason"))),
    touched(limits)
      ? [
          h("p", {}, t("noOptionsMore")),
          h(
            "p.unlock",
            {},
            locked.map((feature) => h("button.secondary", { type: "button", onclick: () => state.lock(feature.name, false) }, icon("open"), t("letChange", title(feature)))),
            h("button.secondary", { type: "button", onclick: state.loosen }, t("resetLimits")),
          ),
        ]
      : null,
  );
}

/** Letter, report and printing, about some options, or about those that are found with the limits as they are. */
export function actions(state, options) {
  const { schema } = state.app;
  const letter = (language) => {
    const button = h("button.secondary", { type: "button", onclick: () => state.letter(language, options, button) }, icon("letter"), t("letterIn", language));
    return button;
  };
  const report = h("button.secondary", { type: "button", onclick: () => state.report(options, report) }, icon("report"), t("report"));
  const spoken = schema.languages ?? [];
  return h(
    "div.actions",
    {},
    schema.letters ? [...spoken].sort((a) => (a === current() ? -1 : 1)).slice(0, 2).map(letter) : null,
    report,
    h("button.secondary", { type: "button", onclick: () => print() }, icon("print"), t("print")),
  );
}

/** One option. `i` is its position among those shown. */
export function card(state, option, i, { compact = false } = {}) {
  const { app } = state;
  const changes = option.changes.map((change) => ({ ...change, about: app.features.get(change.feature) ?? change }));
  const id = `option-${i + 1}`;
  const pressed = () => keep.setAttribute("aria-pressed", String(state.isKept(option)));
  const keep = h("button.icon-button", { type: "button", onclick: () => { state.keep(option); pressed(); } }, icon("pin"), t("keep"));
  pressed();
  const node = h(
    "article.card",
    { "aria-labelledby": `${id}-title`, id },
    h(
      "header",
      {},
      h("span.place", { "aria-hidden": "true" }, i + 1),
      h(
        "div.heading",
        {},
        h("h3", { id: `${id}-title` }, h("span.hidden-text", {}, `${t("option", i + 1)}: `), data(heading(changes))),
        h("div.badges", {}, option.purpose ? badge("best", t(`purpose_${option.purpose}`), "star") : null, likeness(option, app.features), option.months ? badge("plain", t("takes", option.months), "clock") : null),
      ),
      compact ? null : h("div.actions", {}, keep, h("button.icon-button", { type: "button", onclick: () => state.tryFrom(option.record) }, icon("tune"), t("tryIt"))),
    ),
    h(
      "div.changes",
      {},
      changes.map((change, place) => line(state, option, place, compact)),
    ),
    h(
      "footer",
      {},
      NOT_ADVISED.includes(option.verdict) ? h("p.error", {}, t("noAdvice")) : null,
      option.contradiction ? h("p.error", {}, data(said(option, "contradiction"))) : null,
      h("p.words", {}, data(inWords(state, option, changes))),
      h("p.measures", {}, option.score !== null && option.score !== undefined && Math.abs(option.score) <= 1 ? h("span", {}, t("scoreThen", points(option.score))) : null, h("span", {}, t("effort", whole(option.total_shift)))),
      option.purpose ? h("p.buys", {}, buys(option, state.answer?.options ?? [])) : null,
    ),
  );
  return node;
}

/** What an option is for: that it is the smallest, or what it asks for beside the smallest, and what that buys. */
function buys(option, options) {
  if (option.purpose === "smallest") return t("isSmallest");
  const other = options.find(({ purpose }) => purpose === "smallest");
  const more = other ? Math.round(option.total_shift - other.total_shift) : 0;
  if (more <= 0) return null;
  return option.verdict === other.verdict ? t("buysLikeness", whole(more)) : t("buysVerdict", whole(more), t(`verdict_${option.verdict}`), t(`verdict_${other.verdict}`));
}

/** Whether nobody carries a change out: a law or time brings it. */
const passive = ({ follows }) => follows === "law" || follows === "time";
const chosen = (changes) => changes.filter((change) => !passive(change));
const heading = (changes) => list((chosen(changes).length ? chosen(changes) : changes).map((change) => title(change.about)));

/** One changed feature: its name, both values, its line of percentiles, and the other values that would do. */
function line(state, option, i, compact) {
  const now = option.changes[i];
  const feature = state.app.features.get(now.feature) ?? now;
  const name = title(feature);
  const [matters, drawn, also] = [h("div.matters"), h("div.drawn"), h("div.holds")];
  /** What is known about the change: again when its details have come. */
  function fill() {
    const change = option.changes[i];
    replace(matters, importance(option, change));
    replace(drawn, picture(change, feature));
    replace(also, option.detailed === undefined ? h("span.hint", {}, "…") : option.detailed && !passive(change) ? holds(change, feature) : null);
  }
  fill();
  state.fills.push(fill);
  const change = now;
  return h(
    "div.change",
    {},
    h("div.name", {}, h("span.label", {}, data(name)), change.follows === "law" ? h("span.hint", {}, t("follows")) : null, change.follows === "time" ? h("span.hint", {}, t("passes")) : null, matters),
    h(
      "div.values",
      {},
      h("span.from", {}, h("span.hidden-text", {}, t("now")), data(bare(change.current, feature))),
      h("span.arrow", { "aria-hidden": "true" }, "→"),
      h("span.to", {}, h("span.hidden-text", {}, t("suggested")), data(shown(change.suggested, feature))),
    ),
    drawn,
    also,
    compact || passive(change) ? null : h("button.cannot", { type: "button", onclick: () => state.lock(change.feature, true), title: t("cannotMore", name), "aria-label": t("cannotMore", name) }, icon("lock"), h("span", {}, t("cannot"))),
  );
}

/** How much of the effect comes from a change, and what else it is for. */
function importance(option, change) {
  const gains = option.changes.reduce((sum, { gain }) => sum + Math.max(0, gain ?? 0), 0);
  const share = gains > 0 && change.gain > 0 ? Math.round((100 * change.gain) / gains) : null;
  const bar = h("span.bar");
  bar.style.width = `${share ?? 0}%`;
  return [
    share === null ? null : h("span.importance", { title: t("importance", share) }, h("span.track", { "aria-hidden": "true" }, bar), h("span.hint", {}, t("importanceShort", share))),
    change.needed_for_decision === false && change.needed_to_stay_typical ? h("span.hint", {}, t("staysTypical")) : null,
    change.needed_by_law && change.follows !== "law" ? h("span.hint", {}, t("byLaw")) : null,
  ];
}

/** Where both values lie among 100 people, or among the levels. */
function picture(change, feature) {
  const ordered = numeric(feature) || feature.kind === "ordinal";
  if (!ordered || change.suggested_percentile === null) return dots(feature, change.current, change.suggested, change.levels ?? []);
  const [low, high] = [change.low_percentile ?? place(feature, change.low), change.high_percentile ?? place(feature, change.high)];
  const [now, next] = [change.current_percentile, change.suggested_percentile].map((one) => (one === null ? null : Math.round(one)));
  return [
    rail({ now: change.current_percentile, next: change.suggested_percentile, low, high }),
    h("span.hint", {}, h("span", { "aria-hidden": "true" }, now === null ? "" : t("places", now, next)), h("span.hidden-text", {}, t("placesSaid", now, next))),
  ];
}

/** Which other values do as well. */
function holds(change, feature) {
  const levels = (change.levels ?? []).filter((level) => level !== change.suggested);
  if (levels.length && !numeric(feature) && feature.kind !== "ordinal") return [h("span.hint", {}, t("alsoHolds")), data(either(levels.map((level) => bare(level, feature))))];
  if (change.low === null || change.high === null || change.low === undefined || change.low === change.high) return [h("span.hint", {}, t("exactly"))];
  return [h("span.hint", {}, t("alsoHolds")), data(numeric(feature) ? range(change.low, change.high, feature) : steps(change, feature))];
}

/** Ordered levels from one to another: two by name, more by their ends. */
function steps({ low, high }, feature) {
  const [first, last] = [low, high].map((end) => feature.levels.findIndex((level) => level.value === end));
  if (last - first === 1) return either([low, high].map((level) => bare(level, feature)));
  return last === feature.levels.length - 1 ? t("andUp", bare(low, feature)) : t("fromTo", bare(low, feature), bare(high, feature));
}

/** Where a value lies among 100 real people. */
function place(feature, value) {
  if (typeof value !== "number" || !feature.quantiles) return null;
  const below = feature.quantiles.filter((one) => one < value).length;
  const up = feature.quantiles.filter((one) => one <= value).length;
  return Math.min(100, (below + Math.max(below, up)) / 2);
}

/** What to change as one sentence, which can be read out to the person. */
function inWords(state, option, changes) {
  const texts = chosen(changes).map((change) => {
    const feature = change.about;
    const [from, to] = [bare(change.current, feature), shown(change.suggested, feature)];
    if (typeof change.current === "number" && typeof change.suggested === "number" && numeric(feature)) return t(change.suggested > change.current ? "raise" : "reduce", title(feature), from, to);
    return t("change", title(feature), from, to);
  });
  if (option.waits) texts.unshift(t("wait", option.months));
  return t("inWords", capital(list(texts)), goal(state.app.schema));
}

function legend(notes) {
  const sample = rail({ now: 70, next: 35, low: 15, high: 42 });
  return h(
    "details.legend",
    {},
    h("summary", {}, t("legendTitle"), icon("down")),
    h(
      "dl",
      {},
      h("div", {}, h("dt", {}, sample), h("dd", {}, t("legendRail"))),
      h("div", {}, h("dt", {}, badge("good", t("verdict_typical"), "check")), h("dd", {}, t("legendTypical"))),
      h("div", {}, h("dt", {}, badge("best", t("purpose_smallest"), "star")), h("dd", {}, t("legendSmallest"))),
      h("div", {}, h("dt", {}, badge("fair", t("notReviewedShort"), "warn")), h("dd", {}, t("legendReviewed"))),
      h("div", {}, h("dt", {}, h("span.hint", {}, t("importanceShort", 60))), h("dd", {}, t("legendImportance"))),
      h("div", {}, h("dt", {}, h("span.hint", {}, t("pointsOf100"))), h("dd", {}, t("legendScore"))),
      notes.length ? h("div", {}, h("dt", {}, h("span.hint", {}, t("notes"))), h("dd", {}, notes.map((note) => h("p", {}, data(own(note, "text")))))) : null,
    ),
  );
}
