/* How elements are made. Text from data is always set as text and never parsed, so it cannot become markup. */

const SVG = "http://www.w3.org/2000/svg";

function build(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function parts(tag) {
  const [name, ...classes] = tag.split(".");
  return [name || "div", classes.join(" ")];
}

/** An element: h("p.note", {id: "a"}, "text", other). Properties that start with “on” are listeners. */
export function h(tag, props = {}, ...children) {
  const [name, classes] = parts(tag);
  const node = document.createElement(name);
  if (classes) node.className = classes;
  return build(node, props, children);
}

/** An element of an SVG picture. */
export function s(tag, props = {}, ...children) {
  const [name, classes] = parts(tag);
  const node = document.createElementNS(SVG, name);
  if (classes) node.setAttribute("class", classes);
  return build(node, props, children);
}

/** A text from data, which keeps its own direction: marks for right-to-left text do not reach its surroundings. */
export function data(text, tag = "bdi") {
  const shown = String(text);
  return h(tag, shown.length > 60 ? { title: shown } : {}, shown);
}

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

let count = 0;
/** An id that nothing else on the page has. */
export function fresh(prefix) {
  count += 1;
  return `${prefix}-${count}`;
}

/** Places a part on a line from 0 to 100. */
export function at(node, left, width) {
  node.style.left = `${Math.min(100, Math.max(0, left))}%`;
  if (width !== undefined) node.style.width = `${Math.min(100, Math.max(0, width))}%`;
  return node;
}

/** Calls `action` once, so many milliseconds after the last call. */
export function later(action, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}

const PATHS = {
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5.500 11h13v9h-13z",
  open: "M7 11V8a5 5 0 0 1 9.600-2M5.500 11h13v9h-13z",
  tune: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.800v4.400M9 14.800v4.400",
  pin: "M7 4h10v16l-5-4-5 4z",
  back: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
  down: "M6 9l6 6 6-6",
  letter: "M4 6h16v12H4zM4 7l8 6 8-6",
  report: "M6 3.500h8l4 4v13H6zM14 3.500v4h4M9 12h6M9 16h6",
  print: "M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z",
  search: "M10.500 17a6.500 6.500 0 1 1 0-13 6.500 6.500 0 0 1 0 13zM15.500 15.500L20 20",
  download: "M12 5v11M7.500 11.500L12 16l4.500-4.500M5 19.500h14",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8M12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z",
  check: "M5 12.500l4.500 4.500L19 7.500",
  star: "M12 4l2.400 5.200 5.600.700-4.100 3.900 1.100 5.600-5-2.800-5 2.800 1.100-5.600L4 9.900l5.600-.700z",
  close: "M6 6l12 12M18 6L6 18",
  edit: "M5 19l1-4L16 5l3 3L9 18zM14 7l3 3",
  person: "M12 12a4 4 0 1 1 0-8 4 4 0 0 1 0 8M4.500 20.500c.500-4 3.500-6 7.500-6s7 2 7.500 6",
  clock: "M12 3.500a8.500 8.500 0 1 1 0 17 8.500 8.500 0 0 1 0-17M12 7.500V12l3 2",
  warn: "M12 4l9 16H3zM12 10v4.500M12 17.200v.300",
};

/** A line drawing of 24 × 24 units; the words beside it say what it means. */
export function icon(name) {
  return s("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
}

/** Tabs, with the keys that people expect: arrows, Home and End. Each tab is {id, label, panel: () => element}. */
export function tabs(label, list, chosen, onchange) {
  const bar = h("div.tabs", { role: "tablist", "aria-label": label });
  const panel = h("div.panel", { role: "tabpanel", tabindex: "-1" });
  const buttons = list.map((tab) =>
    h("button.tab", { type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": "tabpanel", onclick: () => show(tab.id) }, tab.label),
  );
  panel.id = "tabpanel";
  function show(id, focus = false) {
    list.forEach((tab, i) => {
      const on = tab.id === id;
      buttons[i].setAttribute("aria-selected", String(on));
      buttons[i].tabIndex = on ? 0 : -1;
      if (on && focus) buttons[i].focus();
    });
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    onchange(id);
    replace(panel, list.find((tab) => tab.id === id).panel());
  }
  bar.addEventListener("keydown", (event) => {
    const here = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (here < 0 || to === undefined) return;
    event.preventDefault();
    show(list[(to + buttons.length) % buttons.length].id, true);
  });
  bar.append(...buttons);
  show(chosen);
  return { bar, panel, show, button: (id) => buttons[list.findIndex((tab) => tab.id === id)] };
}

/** A choice of one among few, as radio buttons that look like one row: options are [value, label]. */
export function segments(legend, options, chosen, onchange, props = {}) {
  const name = fresh("choice");
  return h(
    "fieldset.segments",
    props,
    h("legend", {}, legend),
    h(
      "div.row",
      {},
      options.map(([value, label]) =>
        h(
          "label",
          {},
          h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }),
          h("span", {}, label),
        ),
      ),
    ),
  );
}
