(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("people-data").textContent);
  const at = (id) => document.getElementById(id);
  const copy = (id) => at(id).content.firstElementChild.cloneNode(true);
  const [NAME, OUTCOME, REASON, OPTIONS, AGAINST] = [0, 1, 2, 3, 4];
  const state = { page: 0, found: data.people };

  const text = (element, selector, words) => {
    const part = element.querySelector(selector);
    if (words) part.textContent = words;
    else part.remove();
    return part;
  };

  const gist = (person) => {
    if (!person[OPTIONS].length) return "";
    const [, , , , all, time] = person[OPTIONS][0];
    const changes = all.filter((c) => c[1] && !data.clocks.includes(c[0]));
    const shown = changes.slice(0, 3).map((c) => `${data.features[c[0]]}: ${c[1]}\u00a0→\u00a0${c[2]}`);
    const more = changes.length - shown.length;
    return [...shown, ...(more ? [`${more} more`] : []), ...(time ? [time] : [])].join(" · ");
  };

  const scale = (item, from, to, low, high) => {
    const svg = item.querySelector("svg");
    const place = (point) => 6 + 1.88 * point;
    if (from === null && to === null) {
      svg.remove();
      return "";
    }
    const words = `${from === null ? "–" : Math.round(from)} → ${to === null ? "–" : Math.round(to)}`;
    svg.setAttribute("aria-label", `percentile ${words}`);
    const [band, way, now, then] = ["band", "way", "now", "then"].map((name) => svg.querySelector(`.${name}`));
    if (low === null || high === null) band.remove();
    else {
      band.setAttribute("x", place(low));
      band.setAttribute("width", Math.max(place(high) - place(low), 2));
    }
    if (from === null) now.remove();
    else now.setAttribute("cx", place(from));
    if (to === null) then.remove();
    else {
      const tip = from === null || to >= from ? 5.5 : -5.5;
      then.setAttribute("d", `M${place(to) - tip} 3.5 L${place(to) + tip} 9 L${place(to) - tip} 14.5 Z`);
    }
    if (from === null || to === null) way.remove();
    else {
      way.setAttribute("x1", place(from));
      way.setAttribute("x2", place(to));
    }
    return words;
  };

  const change = ([feature, before, after, from, to, low, high, held, gain, needs]) => {
    const item = copy("change");
    text(item, ".feature", data.features[feature].replace(/[a-z0-9](?=[A-Z])|[_./-]/g, "$&\u200b"));
    if (before) item.querySelector(".before").textContent = before;
    else item.querySelector(".move").replaceChildren(item.querySelector(".after"));
    item.querySelector(".after").textContent = after;
    text(item, ".points", scale(item, from, to, low, high));
    text(item, ".held", held && `also holds: ${held}`);
    const reasons = data.needs.filter((_, k) => needs & (2 ** k));
    if (gain !== null) reasons.push(`score ${gain < 0 ? "−" : "+"}${Math.abs(gain).toFixed(2)}`);
    text(item, ".need", reasons.join(" · "));
    return item;
  };

  const option = ([level, tone, sentence, facts, changes], k, all) => {
    const section = copy("option");
    const title = section.querySelector("h4");
    title.textContent = all.length > 1 ? `Option ${k + 1}` : "Suggested change";
    const badge = document.createElement("span");
    badge.className = `badge ${tone}`;
    badge.textContent = level;
    title.append(" ", badge);
    section.querySelector(".changes").append(...changes.map(change));
    text(section, ".figures", facts);
    text(section, ".sentence", sentence && `In words: ${sentence}`);
    return section;
  };

  const fill = (details, person) => {
    if (details.dataset.filled) return;
    details.dataset.filled = "yes";
    const say = (words) => {
      const paragraph = document.createElement("p");
      paragraph.textContent = words;
      details.append(paragraph);
    };
    if (person[AGAINST]) say(`Counts most against this person: ${person[AGAINST]}`);
    if (person[REASON]) say(person[REASON]);
    details.append(...person[OPTIONS].map(option));
  };

  const row = (person) => {
    const item = copy("person");
    const details = item.querySelector("details");
    const [label, tone] = data.outcomes[person[OUTCOME]];
    text(item, "h3", person[NAME] || "(no name)");
    text(item, ".gist", gist(person));
    text(item, ".badge", label).classList.add(tone);
    details.addEventListener("toggle", () => details.open && fill(details, person));
    details.fill = () => fill(details, person);
    return item;
  };

  const words = (person) => [person[NAME], person[REASON], ...person[OPTIONS].map((o) => o[2])].join("\n").toLowerCase();
  let index = null;

  const search = () => {
    const parts = at("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [outcome, feature] = [at("outcome").value, at("changing").value];
    index = index || (parts.length ? data.people.map(words) : null);
    state.found = data.people.filter((person, i) =>
      (outcome === "" || person[OUTCOME] === Number(outcome)) &&
      (feature === "" || person[OPTIONS].some((o) => o[4].some((c) => c[0] === Number(feature)))) &&
      parts.every((part) => index[i].includes(part)));
    state.page = 0;
    show();
  };

  const show = () => {
    const size = Number(at("size").value);
    const pages = Math.max(1, Math.ceil(state.found.length / size));
    const start = state.page * size;
    const shown = state.found.slice(start, start + size);
    const number = (count) => count.toLocaleString("en");
    at("list").start = start + 1;
    at("list").replaceChildren(...shown.map(row));
    const all = state.found.length === data.people.length ? "" : ` of ${number(data.people.length)}`;
    at("count").textContent = state.found.length === 1 ? `1 person${all}` : `${number(state.found.length)}${all} people`;
    at("place").textContent = shown.length ? `${number(start + 1)}–${number(start + shown.length)} of ${number(state.found.length)}` : "";
    at("previous").disabled = state.page === 0;
    at("next").disabled = state.page >= pages - 1;
    document.querySelector(".pager").hidden = pages === 1;
  };

  const turn = (step) => {
    state.page += step;
    show();
    at("count").scrollIntoView({ block: "start" });
  };

  data.outcomes.forEach(([label, , count], k) => at("outcome").append(new Option(`${label} (${count})`, k)));
  const changed = new Set(data.people.flatMap((p) => p[OPTIONS].flatMap((o) => o[4].map((c) => c[0]))));
  data.features.forEach((name, k) => changed.has(k) && at("changing").append(new Option(name, k)));
  at("find").addEventListener("input", search);
  for (const id of ["outcome", "changing", "size"]) at(id).addEventListener("change", search);
  at("previous").addEventListener("click", () => turn(-1));
  at("next").addEventListener("click", () => turn(1));

  // What is on the page is printed whole; afterwards it is as it was.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) {
      if (details.fill) details.fill();
      details.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });

  show();
  at("people").hidden = false;
  const first = document.querySelector("#list details");
  if (first) first.open = true;
})();
