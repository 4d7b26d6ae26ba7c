/* The review: a card for each question, with what each choice does to the answers, until all rest on decisions. */

import { download, get, post, replaced } from "./api.js";
import { data, h, icon, replace } from "./dom.js";
import { current, own, t, title, whole } from "./format.js";
import { badge } from "./parts.js";
import { complain, say, sentence, toast } from "./toast.js";

const LEVERS = 8;
const MOST_NAMES = 4;

export function review(app) {
  const memory = (app.memory.review ??= { by: "", state: null });
  const body = h("div.review-body", {}, h("p.waiting", { role: "status" }, t("finding")));
  const name = h("input", { id: "reviewer", autocomplete: "name", maxlength: 200, value: memory.by, oninput: () => { memory.by = name.value.trim(); } });
  let gone = false;
  // what choices would do is asked one after the other, and given up when something is decided
  let [round, turn] = [0, Promise.resolve()];
  const inTurn = (work) => {
    const mine = round;
    turn = turn.then(() => (gone || mine !== round ? null : work()));
    return turn;
  };

  async function load(asking) {
    try {
      const state = await asking;
      memory.state = state;
      if (!gone) draw(state);
    } catch (error) {
      if (gone || replaced(error)) return;
      if (memory.state) {
        complain(error);
        draw(memory.state);
      } else replace(body, h("p.error", { role: "alert" }, sentence(error)));
    }
  }

  function decide(asked) {
    if (!memory.by) {
      toast(t("reviewerNeeded"), "bad");
      name.focus();
      return;
    }
    round += 1;
    body.classList.add("busy");
    say(t("finding"));
    load(post("review/decide", { ...asked, by: memory.by }, { lane: "review" }));
  }

  function titles(columns) {
    const names = columns.map((column) => title(app.features.get(column) ?? { name: column }));
    return names.length > MOST_NAMES + 1 ? `${names.slice(0, MOST_NAMES).join(", ")} ${t("more", names.length - MOST_NAMES)}` : names.join(", ");
  }

  function draw(state) {
    body.classList.remove("busy");
    const cards = state.questions.map((asked, i) => card(asked, state, i === 0));
    replace(
      body,
      standing(state),
      state.to_do.length ? h("section.sheet", {}, h("h2", {}, t("toDo")), h("ul.fine", {}, state.to_do.map((text) => h("li", {}, english(text))))) : null,
      h("div.cards", {}, cards),
      levers(state),
      state.decisions.length ? decisions(state) : null,
    );
    say(t("restOn", whole(100 * state.unreviewed)));
  }

  /** How far the review is, and the schema to take away. */
  function standing(state) {
    const save = h("button", { type: "button", class: state.done ? "primary" : "secondary", onclick: take }, icon("download"), t("schemaDownload"));
    return h(
      "section.sheet.standing",
      {},
      h("div.heading", {}, h("h2", {}, state.done ? t("reviewDone") : t("restOn", whole(100 * state.unreviewed))), h("p.hint", {}, t("withAnswer", state.found, state.people), state.done ? ` · ${t("reviewDoneMore")}` : null)),
      save,
    );
  }

  async function take() {
    try {
      await download(await get("review/schema", { raw: true }), "schema.toml");
      toast(t("downloaded", "schema.toml"));
    } catch (error) {
      complain(error);
    }
  }

  /** One question: the evidence, an example, and the choices; what they do is asked for when the card is open. */
  function card({ question, answers, example }, state, first) {
    const chosen = new Set(question.columns);
    const rows = question.choices.map((choice) => row(question, choice, chosen));
    const node = h(
      "details.card.asked",
      { open: first, ontoggle: look },
      h("summary", {}, h("span.heading", {}, h("h3", {}, data(titles(question.columns))), h("span.hint", {}, t(`topic_${question.topic}`))), badge("plain", t("questionAnswers", answers, state.found)), icon("down")),
      h("p.evidence", {}, english(question.evidence)),
      example ? h("p.example", {}, h("span.hint", {}, t("exampleTitle")), english(example)) : h("p.hint", {}, t("onlyAsked")),
      question.columns.length > 1 ? columns(question, chosen, () => rows.forEach((one) => one.look())) : null,
      h("ul.choices", {}, rows.map((one) => one.node)),
    );
    let looked = false;
    function look() {
      if (!node.open || looked) return;
      looked = true;
      rows.forEach((one) => one.look());
    }
    return node;
  }

  /** The columns of a question that a decision is about: all of them, or some. */
  function columns(question, chosen, onchange) {
    const boxes = question.columns.map((name) => h("input", { type: "checkbox", checked: true, onchange: take }));
    function take() {
      chosen.clear();
      question.columns.filter((_, i) => boxes[i].checked).forEach((name) => chosen.add(name));
      onchange();
    }
    function turnAll() {
      const on = chosen.size === 0;
      boxes.forEach((box) => { box.checked = on; });
      take();
    }
    return h(
      "fieldset.about",
      {},
      h("legend.hint", {}, t("aboutColumns")),
      question.columns.map((name, i) => h("label.pill", {}, boxes[i], h("span", {}, data(titles([name]))))),
      h("button.quiet.small", { type: "button", onclick: turnAll }, t("allOrNone")),
    );
  }

  function row(question, choice, chosen) {
    const effect = h("div.effect", {}, choice.asks === "parts" ? h("span.hint", {}, t("choiceParts")) : null);
    const months = choice.asks === "months" ? h("input.number", { type: "number", min: 1, max: 1200, step: "any", value: 6, "aria-label": `${choice.text}: ${t("choiceMonths")}`, onchange: look }) : null;
    const asked = () => ({ id: question.id, key: choice.key, months: months ? Number(months.value) : null, columns: chosen.size < question.columns.length ? [...chosen] : null });
    function look() {
      const wrong = [...chosen].filter((name) => !choice.columns.includes(name));
      button.disabled = !chosen.size || wrong.length > 0;
      if (choice.asks === "parts") return;
      if (button.disabled) {
        replace(effect, wrong.length ? h("span.hint", {}, data(t("notFor", titles(wrong)))) : null);
        return;
      }
      replace(effect, h("span.hint", {}, "…"));
      later();
    }
    let last = 0;
    function later() {
      const mine = (last += 1);
      inTurn(() => (mine === last ? show() : null));
    }
    async function show() {
      try {
        const found = await post("review/outlook", asked(), { lane: "review" });
        replace(
          effect,
          h("span", {}, t("withAnswer", found.found, found.people)),
          h(found.lost ? "span.lost" : "span.hint", {}, t("choiceLoses", found.lost)),
          found.others || !found.lost ? h("span.hint", {}, t("choiceOthers", found.others)) : null,
          found.total_shift === null ? null : h("span.hint", {}, t("choiceShift", whole(found.total_shift))),
          found.example ? h("details.then", {}, h("summary", {}, t("exampleTitle")), english(found.example)) : null,
        );
      } catch (error) {
        if (!replaced(error)) replace(effect, h("span.hint", {}, sentence(error)));
      }
    }
    const button = h("button.secondary", { type: "button", onclick: () => decide(asked()) }, choice.texts[current()] ? data(own(choice, "text")) : english(choice.text));
    return { node: h("li", {}, h("div.choice", {}, button, months ? h("label.inline", {}, months, t("choiceMonths")) : null), effect), look };
  }

  function levers({ levers: found, found: all }) {
    return h(
      "section.sheet.levers",
      {},
      h("h2", {}, t("leversTitle")),
      h(
        "ul",
        {},
        found.slice(0, LEVERS).map((one) => {
          const bar = h("span.bar");
          bar.style.width = `${(100 * one.answers) / Math.max(1, all)}%`;
          return h(
            "li",
            { title: one.example },
            h("span.label", {}, data(titles([one.feature]))),
            h("span.track", { "aria-hidden": "true" }, bar),
            h("span.hint", {}, [t("leverAnswers", one.answers, all), one.up ? t("leverUp", one.up) : null, one.down ? t("leverDown", one.down) : null].filter(Boolean).join(" · ")),
            one.reviewed ? badge("good", t("decided"), "check") : badge("fair", t("notReviewedShort"), "warn"),
          );
        }),
      ),
    );
  }

  function decisions(state) {
    return h(
      "details.fixed",
      { open: state.done },
      h("summary", {}, t("decisionsTitle", state.decisions.length), icon("down")),
      h("dl", {}, state.decisions.map((one) => h("div", {}, h("dt", {}, data(titles(one.columns))), h("dd", {}, english(one.text), h("span.hint", {}, " ", data(one.reviewed || one.by)))))),
    );
  }

  if (memory.state) draw(memory.state);
  else load(get("review"));
  const node = h(
    "div.review",
    {},
    h("div.intro", {}, h("h1", {}, t("reviewTitle")), h("p.lead", {}, t("reviewLead"))),
    h("label.reviewer", { for: "reviewer" }, t("reviewer"), name),
    body,
  );
  return { node, title: t("review"), leave: () => { gone = true; } };
}

/** A text that there is in English only: screen readers are told so. */
const english = (text) => h("bdi", current() === "en" ? {} : { lang: "en" }, text);
