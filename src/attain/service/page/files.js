/* A whole file: upload, progress, cancel, and the answers as files. */

import { call, download, get, post, replaced } from "./api.js";
import { data, h, icon, replace, segments } from "./dom.js";
import { number, said, t, whole } from "./format.js";
import { complain, say, sentence } from "./toast.js";

const RESULTS = [["csv", "CSV"], ["xlsx", "Excel"], ["json", "JSON"], ["report", null]];
const OVER = ["done", "cancelled", "failed"];
const HEAD = 65_536;
const LOOK = 300;
const MOST_OPTIONS = 5;

/** The names of the columns of a CSV file, and what separates them: what its first line has most of. */
async function header(file) {
  const [line] = (await file.slice(0, HEAD).text()).replace(/^\uFEFF/, "").split(/\r?\n/);
  const separator = [",", ";", "\t"].reduce((best, one) => (line.split(one).length > line.split(best).length ? one : best));
  return { separator, names: line.split(separator).map((name) => name.replace(/^"(.*)"$/, "$1").trim()) };
}

export function files(app) {
  const job = (app.memory.job ??= { id: null, name: "", state: null, n: 1 });
  const out = h("section.job", { "aria-label": t("progress") });
  let left = false;

  const chooser = h("input.hidden-text", { type: "file", id: "file", accept: ".csv,.parquet,text/csv", onchange: () => send(chooser.files[0]) });
  const drop = h(
    "label.drop",
    { for: "file", ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"), ondrop: dropped },
    icon("upload"),
    h("strong", {}, t("dropFile")),
    h("span.hint", {}, t("dropHint", app.schema.limits?.people ? whole(app.schema.limits.people) : null)),
  );

  function dropped(event) {
    event.preventDefault();
    drop.classList.remove("over");
    send(event.dataTransfer.files[0]);
  }

  async function send(file) {
    if (!file) return;
    const format = file.name.toLowerCase().endsWith(".parquet") ? "parquet" : "csv";
    const query = new URLSearchParams({ format, n: job.n });
    if (format === "csv") {
      // a column that is no feature tells people apart
      const { separator, names } = await header(file);
      const other = names.find((name) => name && !app.features.has(name));
      query.set("separator", separator);
      if (other !== undefined && names.length > 1) query.set("index", other);
    }
    Object.assign(job, { id: null, name: file.name, state: { state: "uploading" } });
    show();
    try {
      const { id } = await post(`jobs?${query}`, file, { type: format === "csv" ? "text/csv" : "application/octet-stream", lane: "upload" });
      job.id = id;
      follow();
    } catch (error) {
      if (replaced(error)) return;
      job.state = { state: "failed", message: error.status ? error.message : sentence(error), messages: error.messages };
      show();
    }
    chooser.value = "";
  }

  /** Asks how far the job is until it has ended, or somebody has left. */
  async function follow() {
    const { id } = job;
    while (!left && job.id === id) {
      try {
        job.state = await get(`jobs/${encodeURIComponent(id)}`);
      } catch (error) {
        return complain(error);
      }
      if (job.id === id) show();
      if (OVER.includes(kind())) return say(t(`job_${kind()}`));
      await new Promise((resolve) => { setTimeout(resolve, LOOK); });
    }
    return null;
  }

  const kind = () => job.state.state;

  async function cancel() {
    try {
      job.state = await call("DELETE", `jobs/${encodeURIComponent(job.id)}`);
      show();
    } catch (error) {
      complain(error);
    }
  }

  async function fetchResult(format, button) {
    button.disabled = true;
    try {
      const answer = await call("GET", `jobs/${encodeURIComponent(job.id)}/result?format=${format}`, undefined, { raw: true });
      await download(answer, format === "report" ? "report.html" : `answers.${format}`);
    } catch (error) {
      complain(error);
    }
    button.disabled = false;
  }

  /** What stays while a job goes on is made once, so that a click or the focus is not lost between two reports. */
  let shown = { name: null };

  function show() {
    if (!job.state) return;
    const { done = 0, total = 0, found = 0, seconds = null } = job.state;
    if (shown.name !== kind() || shown.id !== job.id || OVER.includes(kind())) build();
    shown.bar.max = total || 1;
    if (total) shown.bar.value = done;
    replace(
      shown.measures,
      total ? h("span", {}, t("rowsDone", whole(done), whole(total))) : null,
      total ? h("span", {}, t("rowsFound", whole(found))) : null,
      seconds !== null ? h("span", {}, t("seconds", number(seconds, 0.1))) : null,
    );
  }

  function build() {
    const name = kind();
    const going = !OVER.includes(name);
    const problem = job.state.message ? said(job.state, "message") : null;
    shown = { name, id: job.id, bar: h("progress", { "aria-label": t("progress") }), measures: h("p.measures", {}) };
    replace(
      out,
      h("div.sheet", {},
        h("h2", {}, data(job.name)),
        h("p.job-state", {}, t(`job_${name}`) ?? name),
        going || name === "done" ? shown.bar : null,
        shown.measures,
        problem ? h("p.error", { role: "alert" }, data(problem)) : null,
        going && job.id ? h("button.secondary", { type: "button", onclick: cancel }, icon("close"), t("cancel")) : null,
        name === "done" || (name === "cancelled" && job.state.done)
          ? h("div.actions", {}, RESULTS.map(([format, label]) => {
              const button = h("button.secondary", { type: "button", onclick: () => fetchResult(format, button) }, icon("download"), label ?? t("report"));
              return button;
            }))
          : null,
      ),
    );
  }

  if (job.state) {
    show();
    if (job.id && !OVER.includes(kind())) follow();
  }
  const node = h(
    "div.files",
    {},
    h("div.intro", {}, h("h1", {}, t("fileTitle")), h("p.lead", {}, t("fileLead"))),
    segments(t("optionsEach"), Array.from({ length: MOST_OPTIONS }, (_, i) => [i + 1, i + 1]), job.n, (value) => { job.n = value; }),
    chooser,
    drop,
    out,
    h("details.fixed", {}, h("summary", {}, t("columnsTitle", app.schema.features.length), icon("down")), h("ul.columns-list", {}, app.schema.features.map((feature) => h("li", {}, h("code", {}, data(feature.name)))))),
  );
  return { node, title: t("wholeFile"), leave: () => { left = true; } };
}
