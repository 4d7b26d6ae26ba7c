/* Short messages: shown for a while, and read out. */

import { h, icon } from "./dom.js";
import { said, t } from "./format.js";

const SHOWN = 6_000;

export function toast(text, kind = "plain") {
  const note = h(`div.toast.${kind}`, {}, icon(kind === "bad" ? "warn" : "check"), h("span", {}, text));
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), SHOWN);
}

/** Says what went wrong, in the service's own sentence where there is one. */
export const complain = (error) => toast(sentence(error), "bad");
export const sentence = (error) => (error.status === 0 ? t("noConnection") : error.status === 401 ? t("noToken") : said(error, "message"));

/** Reads a text out without showing it. */
export function say(text) {
  document.getElementById("said").textContent = text;
}
