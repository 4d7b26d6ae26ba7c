/* One person: the decision, what may change, and what to do with it. */

import { download, get, post, replaced } from "./api.js";
import { compare } from "./compare.js";
import { controls } from "./controls.js";
import { data, h, icon, later, replace, tabs } from "./dom.js";
import { className, current, goal, isNamed, number, own, shown, t, title } from "./format.js";
import { kept } from "./kept.js";
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
    limits: remembered(app, key(details)),
    answer: null,
    fills: [],
    trial: null,
    ask, lock, loosen, keep, isKept, tryFrom, letter, report, wishes,
  };
  let parts = null;
  let gone = false;
  let turn = 0;

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
  }

  function draw() {
    const why = h("div.why");
    const list = [
      { id: "options", label: t("tabOptions"), panel: () => options(state) },
      { id: "try", label: t("tabTry"), panel: () => tryout(state) },
      (app.schema.methods ?? []).length > 1 ? { id: "compare", label: t("tabCompare"), panel: () => compare(state) } : null,
      { id: "kept", label: h("span", {}, t("tabKept"), h("span.number", {}, app.kept.length || "")), panel: () => kept(state) },
    ].filter(Boolean);
    const { limits } = state;
    if (!list.some(({ id }) => id === limits.tab)) limits.tab = "options";
    const bar = tabs(t("tabs"), list, limits.tab, (id) => { limits.tab = id; });
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
        decision(app.schema, decided.accepted, decided.decision),
        isNamed(app.schema, decided.decision) ? null : h("span.class", {}, t("modelSays"), " ", data(t("quoted", className(app.schema, decided.decision)))),
        h("span.spring"),
        h("button.quiet", { type: "button", onclick: () => app.go("form", { record: state.record }) }, icon("edit"), t("editRecord")),
      ),
      h("div.verdict-body", {}, h("div.verdict-score", {}, gauge(decided).node, h("p.hint", {}, decided.accepted ? t("scoreHintYes") : data(t("scoreHintNo", goal(app.schema))))), why),
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

  /** Whom it is about and what may change, as the service takes it. */
  function wishes() {
    const { key: _key, tab: _tab, n: _n, locked, ...limits } = state.limits;
    return { ...state.who, locked: [...locked], ...limits };
  }

  /** New options: first what they are, which is quick, then what else is known about them. */
  async function load() {
    if (gone) return;
    busy(true);
    const [asked, mine] = [wishes(), (turn += 1)];
    state.fills = [];
    try {
      state.answer = await post("explain", { ...asked, n: state.limits.n, details: false }, { lane: "explain" });
      state.failed = null;
      if (gone) return;
    } catch (error) {
      if (replaced(error) || gone) return;
      state.answer = null;
      state.failed = error;
    }
    busy(false);
    if (state.limits.tab === "options") parts.bar.show("options");
    const found = state.answer?.options ?? [];
    say(state.failed ? sentence(state.failed) : found.length ? t("optionsFound", found.length) : own(state.answer, "reason"));
    if (!parts.why.hasChildNodes()) await explainDecision(found);
    if (found.length && mine === turn) await detail(asked, found);
  }

  /** The range that still holds and the importance of each change, into the cards that are there. */
  async function detail(asked, found) {
    try {
      const { options: known } = await post("explain", { ...asked, answers: found.map((option) => option.record) }, { lane: "explain" });
      if (known.length === found.length) found.forEach((option, i) => Object.assign(option, known[i], { purpose: option.purpose, detailed: true }));
    } catch {
      // the options stand without it; those that were kept are shown without it
    }
    found.forEach((option) => { option.detailed ??= false; });
    state.fills.forEach((fill) => fill());
  }

  /** Why the decision was made, which no limit changes. */
  async function explainDecision([option]) {
    const answers = option ? { answers: [option.record] } : { n: 1 };
    try {
      const { contributions } = await post("explain", { ...state.who, ...answers, details: false, contributions: true });
      if (!gone) replace(parts.why, reasons(contributions));
    } catch {
      // the options stand without it
    }
  }

  /** Asks for new options, once for what is set within a moment. */
  function ask() {
    busy(true);
    soon();
  }
  const soon = later(load, 150);

  function busy(on) {
    parts.line.hidden = !on;
    node.classList.toggle("busy", on);
  }

  /** Keeps a feature as it is, or lets it change again, and asks for new options. */
  function lock(name, on) {
    if (on) state.limits.locked.add(name);
    else state.limits.locked.delete(name);
    parts.side.update();
    ask();
  }

  /** Lets everything change again. */
  function loosen() {
    parts.side.clear();
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

  /** A letter or a report about options: those shown now, or some that were kept. */
  function letter(language, options, button) {
    const open = new Set((options ?? state.answer?.options ?? []).flatMap((option) => option.unreviewed ?? []));
    if (open.size) return toast(t("letterUnreviewed", [...open].map((name) => title(app.features.get(name) ?? { name })).join(", ")), "bad");
    return fetched("letter", { ...about(options), language }, `letter-${language}.html`, button);
  }

  function report(options, button) {
    return fetched("report", { ...about(options), language: current() }, "report.html", button);
  }

  const about = (options) => (options ? { ...state.who, answers: options.map(({ record }) => record), options: options.length } : { ...wishes(), options: state.limits.n });

  start();
  return { node, title: state.name, leave: () => { gone = true; } };
}

const key = (details) => JSON.stringify(details.id ?? details.record);

/** What was set for this person is still there when the page is drawn again; somebody else starts afresh. */
function remembered(app, name) {
  if (app.memory.limits?.key !== name) app.memory.limits = fresh(name);
  return app.memory.limits;
}

function fresh(name) {
  return { key: name, tab: "options", n: 3, locked: new Set(), ranges: {}, directions: {}, difficulty: {}, max_changes: null, max_months: null };
}
export const untouched = (limits) => ({ ...fresh(limits.key), n: limits.n, tab: limits.tab });
