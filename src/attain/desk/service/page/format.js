/* Values, numbers and lists for reading, in the language of the page. */

import en from "./en.js";
import de from "./de.js";

const WORDS = { en, de };
let language = "en";
const DIGITS = 4;
const MONEY = ["$", "€", "£", "¥", "₹"];

export const languages = Object.keys(WORDS);
export const current = () => language;
export function speak(name) {
  language = name in WORDS ? name : "en";
  document.documentElement.lang = language;
}

/** The words of a key; those that depend on numbers or names are functions. */
export function t(key, ...given) {
  const words = WORDS[language][key];
  return typeof words === "function" ? words(...given) : words;
}

export const numeric = (feature) => feature.levels === null || feature.levels === undefined;

/** The text of a feature, level, class or sentence in the language of the page, where there is one. */
export const own = (thing, name) => thing[`${name}s`]?.[language] ?? thing[name];
/** The same for a sentence of the service: one that there is only in English says so. */
export const said = (thing, name) => (language === "en" || thing[`${name}s`]?.[language] ? capital(own(thing, name)) : t("inEnglish", thing[name]));
export const capital = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** What the operator calls a class; null where they gave no name. */
const named = (schema, label) => own(schema.classes.find((one) => one.value === label) ?? {}, "label") ?? null;
export const className = (schema, label) => String(named(schema, label) ?? label);
export const goal = (schema) => className(schema, schema.target);
/** A decision in a word: what the operator calls it, or else whether it is the desired one. */
export function verdict(schema, accepted, label) {
  const name = named(schema, label);
  return name === null ? t(accepted ? "accepted" : "refused") : capital(name);
}
/** The people with the desired decision, or those with another one. */
export function group(schema, accepted) {
  const [other, more] = schema.classes.filter(({ value }) => value !== schema.target);
  return verdict(schema, accepted, accepted ? schema.target : more ? undefined : other?.value);
}
export const isNamed = (schema, label) => named(schema, label) !== null;

export const title = (feature) => String(own(feature, "label") ?? feature.name);
export const unit = (feature) => own(feature, "unit") ?? "";

/** Digits are grouped from 10,000 on, or from 1,000 where a unit follows: a number without one may be a year. */
export function number(value, step = null, unit = false) {
  const decimals = step ? Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))) : null;
  const digits = decimals === null ? { maximumSignificantDigits: DIGITS } : { maximumFractionDigits: decimals };
  return new Intl.NumberFormat(language, { ...digits, useGrouping: unit ? "always" : "min2" }).format(value);
}

export const whole = (value) => new Intl.NumberFormat(language, { maximumFractionDigits: 0 }).format(value);

/** A value without its unit. */
export function bare(value, feature) {
  if (value === null || value === undefined) return t("unknown");
  if (!numeric(feature)) {
    const level = feature.levels.find((one) => one.value === value);
    if (typeof value === "boolean" && !level?.labels?.[language]) return t(value ? "yes" : "no");
    return level ? String(own(level, "label")) : String(value);
  }
  const special = feature.special?.find((one) => one.value === value);
  if (special) return String(own(special, "label"));
  return typeof value === "number" ? number(value, step(feature), Boolean(unit(feature))) : String(value);
}

/** Whether the unit stands before the number, as in letters: $1,200. */
const leads = (feature) => language === "en" && MONEY.includes(unit(feature));

/** A value with its unit. */
export function shown(value, feature) {
  const text = bare(value, feature);
  const plain = typeof value === "number" && numeric(feature) && !isSpecial(value, feature);
  if (!plain || !unit(feature)) return text;
  if (leads(feature)) return text.replace(/^-?/, (sign) => `${sign}${unit(feature)}`);
  return `${text}${language === "en" && unit(feature) === "%" ? "" : " "}${unit(feature)}`;
}

export const isSpecial = (value, feature) => Boolean(feature.special?.some((one) => one.value === value));
export const step = (feature) => feature.step ?? (feature.kind === "count" ? 1 : null);

/** A range of values in words: from 4 to 15 months, up to 15 months, from 4 months. */
export function range(low, high, feature) {
  if (low === null || low === undefined) return t("upTo", shown(high, feature));
  if (high === null || high === undefined) return t("from", shown(low, feature));
  return low === high ? shown(low, feature) : t("between", (leads(feature) ? shown : bare)(low, feature), shown(high, feature));
}

export const list = (texts) => new Intl.ListFormat(language, { type: "conjunction" }).format(texts);
export const either = (texts) => new Intl.ListFormat(language, { type: "disjunction" }).format(texts);

/** A score from −1 to 1 as points of 100. The decision flips at 50, so nothing below is rounded up to it. */
export function points(score) {
  const exact = Math.round((Math.max(-1, Math.min(1, score)) + 1) * 50);
  return score < 0 ? Math.min(49, exact) : Math.max(50, exact);
}
