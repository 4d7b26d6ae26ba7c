/* The options of a person as cards: what changes, from where to where, and how much else would do. */

import { data, h, icon } from "./dom.js";
import { bare, className, current, either, list, numeric, points, range, shown, t, title, whole } from "./format.js";
import { badge, dots, likeness, rail } from "./parts.js";
import { sentence } from "./toast.js";

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
      actions(state),
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
    current() === "en" && answer.reason ? h("p", {}, data(answer.reason)) : null,
    h("p", {}, t("noOptionsMore")),
    locked.length ? h("p.unlock", {}, locked.map((feature) => h("button.secondary", { type: "button", onclick: () => state.lock(feature.name, false) }, icon("open"), t("letChange", title(feature))))) : null,
  );
}

/** Letter, report and printing. */
export function actions(state) {
  const { schema } = state.app;
  const letter = (language) => {
    const button = h("button.secondary", { type: "button", onclick: () => state.letter(language, button) }, icon("letter"), t("letterIn", language));
    return button;
  };
  const report = h("button.secondary", { type: "button", onclick: () => state.report(report) }, icon("report"), t("report"));
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
  const gains = changes.reduce((sum, { gain }) => sum + Math.max(0, gain ?? 0), 0);
  const id = `option-${i + 1}`;
  const keep = h("button.icon-button", { type: "button", "aria-pressed": String(state.isKept(option)), onclick: () => state.keep(option) }, icon("pin"), t("keep"));
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
        h("div.badges", {}, option.easiest ? badge("best", t("easiest"), "star") : null, likeness(option), option.months ? badge("plain", t("takes", option.months), "clock") : null),
      ),
      compact ? null : h("div.actions", {}, keep, h("button.icon-button", { type: "button", onclick: () => state.tryFrom(option.record) }, icon("tune"), t("tryIt"))),
    ),
    h(
      "div.changes",
      {},
      changes.map((change) => line(state, change, gains, compact)),
    ),
    h(
      "footer",
      {},
      h("p.words", {}, data(inWords(state, option, changes))),
      h("p.measures", {}, option.score !== null && option.score !== undefined && Math.abs(option.score) <= 1 ? h("span", {}, t("scoreThen", points(option.score))) : null, h("span", {}, t("effort", whole(option.total_shift)))),
    ),
  );
  return node;
}

const heading = (changes) => list(changes.filter((change) => !change.follows).map((change) => title(change.about)));

/** One changed feature: its name, both values, its line of percentiles, and the other values that would do. */
function line(state, change, gains, compact) {
  const feature = change.about;
  const name = title(feature);
  const ordered = numeric(feature) || feature.kind === "ordinal";
  const share = gains > 0 && change.gain > 0 ? change.gain / gains : null;
  const [low, high] = [change.low_percentile ?? place(feature, change.low), change.high_percentile ?? place(feature, change.high)];
  const bar = share === null ? null : h("span.bar");
  if (bar) bar.style.width = `${100 * share}%`;
  return h(
    "div.change",
    {},
    h(
      "div.name",
      {},
      h("span.label", {}, data(name)),
      share === null ? null : h("span.importance", { title: t("importance", Math.round(100 * share)) }, h("span.track", { "aria-hidden": "true" }, bar), h("span.hint", {}, t("importanceShort", Math.round(100 * share)))),
      change.follows ? h("span.hint", {}, t("follows")) : null,
      change.needed_for_decision === false && change.needed_to_stay_typical ? h("span.hint", {}, t("staysTypical")) : null,
      change.needed_by_law ? h("span.hint", {}, t("byLaw")) : null,
    ),
    h(
      "div.values",
      {},
      h("span.from", {}, h("span.hidden-text", {}, t("now")), data(bare(change.current, feature))),
      h("span.arrow", { "aria-hidden": "true" }, "→"),
      h("span.to", {}, h("span.hidden-text", {}, t("suggested")), data(shown(change.suggested, feature))),
    ),
    h(
      "div.drawn",
      {},
      ordered && change.suggested_percentile !== null
        ? [
            rail({ now: change.current_percentile, next: change.suggested_percentile, low, high }),
            h("span.hint", {}, h("span", { "aria-hidden": "true" }, change.current_percentile === null ? "" : t("places", Math.round(change.current_percentile), Math.round(change.suggested_percentile))), h("span.hidden-text", {}, t("placesSaid", change.current_percentile === null ? null : Math.round(change.current_percentile), Math.round(change.suggested_percentile)))),
          ]
        : dots(feature, change.current, change.suggested, change.levels ?? []),
    ),
    h("div.holds", {}, holds(change, feature)),
    compact ? null : h("button.cannot", { type: "button", onclick: () => state.lock(change.feature, true), title: t("cannotMore", name), "aria-label": t("cannotMore", name) }, icon("lock"), h("span", {}, t("cannot"))),
  );
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
export function inWords(state, option, changes) {
  const chosen = changes.filter((change) => !change.follows);
  const texts = chosen.map((change) => {
    const feature = change.about;
    const [from, to] = [bare(change.current, feature), shown(change.suggested, feature)];
    if (typeof change.current === "number" && typeof change.suggested === "number" && numeric(feature)) return t(change.suggested > change.current ? "raise" : "reduce", title(feature), from, to);
    return t("change", title(feature), from, to);
  });
  return t("inWords", list(texts), className(state.app.schema, state.app.schema.target));
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
      h("div", {}, h("dt", {}, badge("good", t("level_typical"), "check")), h("dd", {}, t("legendTypical"))),
      h("div", {}, h("dt", {}, badge("plain", t("connected"), "link")), h("dd", {}, t("legendConnected"))),
      h("div", {}, h("dt", {}, badge("best", t("easiest"), "star")), h("dd", {}, t("legendEasiest"))),
      h("div", {}, h("dt", {}, h("span.hint", {}, t("importanceShort", 60))), h("dd", {}, t("legendImportance"))),
      h("div", {}, h("dt", {}, h("span.hint", {}, t("pointsOf100"))), h("dd", {}, t("legendScore"))),
      notes.length ? h("div", {}, h("dt", {}, h("span.hint", {}, t("notes"))), h("dd", { lang: "en" }, notes.map((note) => h("p", {}, data(note))))) : null,
    ),
  );
}
