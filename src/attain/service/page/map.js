/* The map: people like one another lie close together. Drawn on a canvas, with the same facts as text below. */

import { post, replaced } from "./api.js";
import { data, h, replace, s } from "./dom.js";
import { goal, group, t, whole } from "./format.js";
import { sentence } from "./toast.js";

const EDGE = 24;

export function map(state) {
  const node = h("div.map", {}, h("p.waiting", {}, t("loading")));
  load(state, node);
  return node;
}

async function load(state, node) {
  const options = state.answer?.options ?? [];
  try {
    const found = await post("map", { ...state.who, options: options.map((option) => option.record) }, { lane: "map" });
    draw(state, node, found);
  } catch (error) {
    if (!replaced(error)) replace(node, h("div.empty", {}, h("p", {}, sentence(error))));
  }
}

function draw(state, node, found) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const above = s("svg", { "aria-hidden": "true" });
  const frame = h("div.frame", {}, canvas, above);
  const near = (place) => share(found.regions, place);
  const wanted = goal(state.app.schema);
  replace(
    node,
    h("h2", {}, t("mapTitle")),
    h("p.lead.small", {}, t("mapLead")),
    h("div.key", { "aria-hidden": "true" }, h("span", {}, h("i.dot.yes"), data(group(state.app.schema, true))), h("span", {}, h("i.dot.no"), data(group(state.app.schema, false))), h("span", {}, h("i.ring"), t("thisPerson")), h("span", {}, h("i.place", {}, "1"), t("tabOptions"))),
    frame,
    h("h3", {}, t("mapWords")),
    h(
      "ul.facts",
      {},
      h("li", {}, data(t("mapPerson", near(found.person), wanted))),
      found.options.map((place, i) => h("li", {}, data(t("mapOption", i + 1, near(place), wanted)))),
    ),
  );
  let width = 0;
  const paint = () => {
    if (frame.clientWidth === width || !frame.clientWidth) return;
    width = frame.clientWidth;
    render(frame, canvas, above, found);
  };
  new ResizeObserver(paint).observe(frame);
}

/** The share of accepted people around a place, of 100; null where there are none. */
function share({ x, y, share: cells }, [px, py]) {
  const nearest = (values, wanted) => values.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);
  const found = cells[nearest(y, py)]?.[nearest(x, px)];
  return found === null || found === undefined ? null : whole(100 * found);
}

function render(frame, canvas, above, found) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [frame.clientWidth, frame.clientHeight];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const style = getComputedStyle(frame);
  const colour = (name) => style.getPropertyValue(name).trim();
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const { x, y } = found.regions;
  const [left, right, bottom, top] = [x[0], x.at(-1), y[0], y.at(-1)];
  const at = ([px, py]) => [EDGE + ((px - left) / (right - left)) * (width - 2 * EDGE), height - EDGE - ((py - bottom) / (top - bottom)) * (height - 2 * EDGE)];
  shade(pen, found.regions, at, colour("--yes-fill"), colour("--no-fill"));
  pen.globalAlpha = 0.7;
  // refused people first, small and round; accepted ones above
  for (const side of [0, 1]) {
    pen.fillStyle = colour(side ? "--yes-fill" : "--no-fill");
    for (const [px, py, accepted] of found.population) {
      if (Number(accepted) !== side) continue;
      const [cx, cy] = at([px, py]);
      pen.beginPath();
      if (side) pen.arc(cx, cy, 2.6, 0, 7);
      else pen.rect(cx - 2.2, cy - 2.2, 4.4, 4.4);
      pen.fill();
    }
  }
  paths(above, width, height, at(found.person), found.options.map(at));
}

/** The share of accepted people as a soft colour behind the points: one pixel for each place, enlarged smoothly. */
function shade(pen, { x, y, share: cells }, at, yes, no) {
  const small = document.createElement("canvas");
  [small.width, small.height] = [x.length, y.length];
  const brush = small.getContext("2d");
  // towards places without people the colour fades out
  const known = (i, j) => [-2, -1, 0, 1, 2].flatMap((up) => [-2, -1, 0, 1, 2].map((on) => cells[i + up]?.[j + on] ?? null)).filter((one) => one !== null).length / 25;
  cells.forEach((row, i) =>
    row.forEach((value, j) => {
      if (value === null) return;
      brush.fillStyle = value >= 0.5 ? yes : no;
      brush.globalAlpha = (0.05 + 0.34 * Math.abs(value - 0.5)) * Math.max(0, 2 * known(i, j) - 1);
      brush.fillRect(j, y.length - 1 - i, 1, 1);
    }),
  );
  const [left, top] = at([x[0], y.at(-1)]);
  const [right, bottom] = at([x.at(-1), y[0]]);
  pen.imageSmoothingQuality = "high";
  pen.drawImage(small, left, top, right - left, bottom - top);
}

/** From the person to each option, as a curve with a number at its end. */
function paths(above, width, height, own, options) {
  above.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const placed = [own];  // the person is not covered either
  const marks = options.map(([ox, oy], i) => {
    // numbers that would lie on one another are moved apart
    let [cx, cy] = [ox, oy];
    for (let turn = 0; placed.some(([px, py]) => Math.hypot(px - cx, py - cy) < 23) && turn < 24; turn += 1) {
      cx = ox + (14 + turn * 2.5) * Math.cos(turn * 2.4);
      cy = oy + (14 + turn * 2.5) * Math.sin(turn * 2.4);
    }
    placed.push([cx, cy]);
    const bend = (i % 2 ? 1 : -1) * 0.18;
    const [mx, my] = [(own[0] + ox) / 2 - (oy - own[1]) * bend, (own[1] + oy) / 2 + (ox - own[0]) * bend];
    return [
      s("path.way", { d: `M${own[0]} ${own[1]}Q${mx} ${my} ${ox} ${oy}` }),
      cx === ox ? null : s("path.leader", { d: `M${ox} ${oy}L${cx} ${cy}` }),
      s("g.end", { transform: `translate(${cx} ${cy})` }, s("circle", { r: 11 }), s("text", { y: 4.5, "text-anchor": "middle" }, i + 1)),
    ];
  });
  replace(above, marks.map(([way]) => way), s("circle.self", { cx: own[0], cy: own[1], r: 7 }), marks.map(([, ...rest]) => rest));
}
