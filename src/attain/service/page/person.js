/* One person: the decision, what may change, and what to do with it. */

import { download, get, post, replaced } from "./api.js";
import { compare } from "./compare.js";
import { controls } from "./controls.js";
import { data, h, icon, later, replace, tabs } from "./dom.js";
import { className, current, number, shown, t, title } from "./format.js";
import { kept } from "./kept.js";
import { map } from "./map.js";
import { options } from "./options.js";
import { decision, gauge } from "./parts.js";
import { complain, say, sentence, toast } from "./toast.js";
import { tryout } from "./tryout.js";

const REASONS = 5;

export function person(app, details) {
  const node = h("div.workspace", {}, h("p.waiting", {}, t("loading")));
  const state = {
    app,
    who: details.id !== undefined ? { person: details.id } : { record: details.record },
    name: details.id !== undefined ? t("personNamed", details.id) : t("typedPerson"),
    record: details.record ?? null,
    decided: null,
    limits: (app.memory.limits?.key === key(details) ? app.memory.limits : (app.memory.limits = fresh(key(details)))),
    answer: null,
    tab: app.memory.tab ?? "options",
    trial: null,
    ask, lock, keep, isKept, tryFrom, letter, report,
  };
  let parts = null;
  let gone = false;

  async function start() {
    try {
      if (details.id !== undefined) state.record = (await get(`people/${encodeURIComponent(details.id)}`)).record;
      const { answers: [answer] } = await post("predict", { record: state.record });
      state.decided = answer;
    } catch (error) {
      if (!gone) replace(node, h("div.empty", {}, h("h1", {}, t("notAvailable")), h("p", {}, sentence(error))));
      return;
    }
    if (gone) return;
    draw();
    await load();
    explainDecision();
  }

  function draw() {
    const why = h("div.why");
    const list = [
      { id: "options", label: t("tabOptions"), panel: () => options(state) },
      { id: "try", label: t("tabTry"), panel: () => tryout(state) },
      app.schema.map ? { id: "map", label: t("tabMap"), panel: () => map(state) } : null,
      (app.schema.methods ?? []).length > 1 ? { id: "compare", label: t("tabCompare"), panel: () => compare(state) } : null,
      { id: "kept", label: h("span", {}, t("tabKept"), h("span.number", {}, app.kept.length || "")), panel: () => kept(state) },
    ].filter(Boolean);
    if (!list.some(({ id }) => id === state.tab)) state.tab = "options";
    const bar = tabs(t("tabs"), list, state.tab, (id) => { state.tab = app.memory.tab = id; });
    const side = controls(state);
    const line = h("div.loading", { hidden: true });
    parts = { bar, side, line, why };
    replace(
      node,
      verdict(why),
      h("div.columns", {}, side.node, h("section.answers", { "aria-label": t("tabOptions") }, bar.bar, line, bar.panel)),
    );
  }

  function verdict(why) {
    const { decided } = state;
    return h(
      "section.verdict",
      { "aria-label": t("decision") },
      h(
        "div.verdict-head",
        {},
        app.schema.people ? h("button.quiet.back", { type: "button", onclick: () => app.go("people") }, icon("back"), t("people")) : null,
        h("h1", {}, data(state.name)),
        decision(decided.accepted),
        h("span.class", {}, t("modelSays"), " ", data(t("quoted", className(app.schema, decided.decision)))),
        h("span.spring"),
        h("button.quiet", { type: "button", onclick: () => app.go("form", { record: state.record }) }, icon("edit"), t("editRecord")),
      ),
      h("div.verdict-body", {}, h("div.verdict-score", {}, gauge(decided).node, h("p.hint", {}, t(decided.accepted ? "scoreHintYes" : "scoreHintNo"))), why),
    );
  }

  /** What counted most in the decision, as bars to both sides. */
  function reasons(contributions) {
    if (!contributions?.length) return [];
    const against = contributions.filter(({ contribution }) => contribution < 0).sort((a, b) => a.contribution - b.contribution);
    const most = against.slice(0, REASONS);
    if (!most.length) return [];
    const largest = -most[0].contribution;
    return [
      h("h2", {}, t("whyTitle")),
      h(
        "ol.reasons",
        {},
        most.map((one) => {
          const feature = app.features.get(one.feature) ?? { name: one.feature, label: one.label };
          const bar = h("span.bar");
          bar.style.width = `${Math.max(4, (100 * -one.contribution) / largest)}%`;
          return h(
            "li",
            {},
            h("span.reason", {}, h("span.label", {}, data(title(feature))), h("span.value", {}, data(shown(one.value, feature)))),
            h("span.amount", { role: "img", "aria-label": t("countsAgainst", number(-50 * one.contribution, 1)) }, bar),
          );
        }),
      ),
    ];
  }

  /** The question as the service takes it. */
  function question() {
    const { limits } = state;
    return {
      ...state.who, n: limits.n, locked: [...limits.locked], ranges: limits.ranges,
      directions: limits.directions, difficulty: limits.difficulty, max_changes: limits.max_changes, max_months: limits.max_months,
    };
  }
  state.question = question;

  async function load() {
    if (gone) return;
    parts.line.hidden = false;
    node.classList.add("busy");
    try {
      state.answer = await post("explain", question(), { lane: "explain" });
      state.failed = null;
      if (gone) return;
    } catch (error) {
      if (replaced(error) || gone) return;
      state.answer = null;
      state.failed = error;
    }
    parts.line.hidden = true;
    node.classList.remove("busy");
    if (state.tab === "options" || state.tab === "map") parts.bar.show(state.tab);
    say(state.failed ? sentence(state.failed) : state.answer.options.length ? t("optionsFound", state.answer.options.length) : (state.answer.reason ?? ""));
  }

  /** Why the decision was made, which no limit changes: asked once, after the options. */
  async function explainDecision() {
    try {
      const { contributions } = await post("explain", { ...state.who, n: 1, details: false, contributions: true });
      if (!gone) replace(parts.why, reasons(contributions));
    } catch {
      // the options stand without it
    }
  }

  function ask() {
    waiting();
  }
  const waiting = later(load, 250);

  /** Keeps a feature as it is, or lets it change again, and asks for new options. */
  function lock(name, on) {
    if (on) state.limits.locked.add(name);
    else state.limits.locked.delete(name);
    parts.side.update();
    load();
  }

  const same = (option) => (one) => one.who === state.name && JSON.stringify(one.option.record) === JSON.stringify(option.record);
  function isKept(option) {
    return app.kept.some(same(option));
  }

  function keep(option) {
    const found = app.kept.findIndex(same(option));
    if (found >= 0) app.kept.splice(found, 1);
    else app.kept.push({ who: state.name, option, record: state.record });
    parts.bar.button("kept").querySelector(".number").textContent = app.kept.length || "";
    if (found < 0) toast(t("keptNow"));
    parts.bar.show(state.tab);
  }

  function tryFrom(record) {
    state.trial = { ...record };
    parts.bar.show("try", true);
  }

  async function fetched(path, body, name, button) {
    button.disabled = true;
    try {
      await download(await post(path, body, { raw: true }), name);
      toast(t("downloaded", name));
    } catch (error) {
      complain(error);
    }
    button.disabled = false;
  }

  function written() {
    const { n, ...asked } = question();
    return { ...asked, options: n };
  }

  function letter(language, button) {
    return fetched("letter", { ...written(), language }, `letter-${language}.html`, button);
  }

  function report(button) {
    return fetched("report", { ...written(), language: current() }, "report.html", button);
  }

  start();
  return { node, title: state.name, leave: () => { gone = true; } };
}

const key = (details) => JSON.stringify(details.id ?? details.record);

function fresh(name) {
  return { key: name, n: 3, locked: new Set(), ranges: {}, directions: {}, difficulty: {}, max_changes: null, max_months: null };
}
export const untouched = (limits) => ({ ...fresh(limits.key), n: limits.n });
