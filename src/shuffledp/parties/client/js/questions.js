// The questions as a form, and the answers as numbers.
//
// A question may come after one answer to an earlier one. It has fields: one, or two whose answers are randomized jointly. A field has `answers`, `ticks` (options, of
// which any may be ticked), or the ends of a range of numbers, of which `edges` may make bins. What is asked is in a language of its own (`theirs`, an attribute), which
// may be another than that of the page's `words`.

import { contentOf } from "./randomizers.js";
import { bitsOf, normalized } from "./texts.js";

const MOST_CHOICES = 12;  // shown one below the other; more are a list to open
const OURS = { lang: document.documentElement.lang };  // of the page

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) {
      made.setAttribute(key, value);
    }
  }
  made.append(...children);
  return made;
}

// A number as the language of the page writes it.
function written(number) {
  return number.toLocaleString(OURS.lang, { maximumSignificantDigits: 15, useGrouping: false });
}

// A text in which `{name}` stands for a part of that name, as what may be appended.
export function filled(text, parts) {
  return text.split(/\{(\w+)\}/).map((piece, place) => (place % 2 ? parts[piece] : piece));
}

// A group with a legend for each question.
export function shownQuestion(question, place, theirs, words) {
  const group = element("fieldset", { id: `question-${place}` }, element("legend", theirs, question.text));
  question.fields.forEach((field, part) => {
    const name = `answer-${place}-${part}`;
    const shown = field.answers ? choices : field.ticks ? ticks : field.code ? text : number;
    group.append(shown(question, field, name, theirs, words));
  });
  return group;
}

function choices(question, field, name, theirs, words) {
  const answers = field.answers.map((text, number) => [number, text, theirs]);
  const isOneOfTwo = question.fields.length > 1;
  if (question.has_missing) {
    answers.push(["none", words.rather_not, OURS]);
  }
  if (answers.length > MOST_CHOICES) {
    const options = answers.map(([value, text, of]) => element("option", { value, ...of }, text));
    const list = element("select", { name, id: name, "aria-label": isOneOfTwo ? field.label : question.text, ...theirs });
    list.append(element("option", { value: "", ...OURS }, words.choose), ...options);
    return list;
  }
  const group = element("div", isOneOfTwo ? { role: "radiogroup", "aria-label": field.label, ...theirs } : {});
  if (isOneOfTwo) {
    group.append(element("p", { class: "part", "aria-hidden": "true" }, field.label));
  }
  for (const [value, text, of] of answers) {
    group.append(element("label", { class: "choice" }, element("input", { type: "radio", name, value }), element("span", of, text)));
  }
  return group;
}

// A text, below the words that are offered, and as it is sent. What is typed is kept nowhere, nor sent to be checked.
function text(question, field, name, theirs, words) {
  const group = element("div", { class: "text" });
  const known = field.known.map((each, place) => [`known-${place}`, each.text, theirs]);
  for (const [value, said, of] of known.length ? [...known, ["other", words.something_else, OURS]] : []) {
    group.append(element("label", { class: "choice" }, element("input", { type: "radio", name, value }), element("span", of, said)));
  }
  const typed = element("input", {
    type: "text", name: `${name}-text`, id: `${name}-text`, maxlength: 500, autocomplete: "off", autocapitalize: "none",
    autocorrect: "off", spellcheck: "false", "aria-describedby": `${name}-rule ${name}-sent`, ...theirs, "aria-label": question.text,
  });
  const rule = filled(field.code === "letters" ? words.text_letters : words.text_bytes, { length: field.length }).join("");
  const sent = element("p", { id: `${name}-sent`, role: "status" });
  typed.addEventListener("input", () => {
    const { text: own, isLess } = normalized(field, typed.value);
    const said = own === "" ? [words.text_nothing] : [...filled(words.text_sent, { text: element("strong", theirs, own) }), isLess ? ` ${words.text_less}` : ""];
    sent.replaceChildren(...(typed.value === "" ? [] : said));
    const other = group.querySelector('input[value="other"]');
    if (other) {
      other.checked = true;
    }
  });
  const none = field.no_answer ? ` (${words.empty})` : "";
  group.append(typed, element("p", { id: `${name}-rule`, class: "note" }, `${words.no_names} ${rule}${none}`), sent);
  typed.form?.addEventListener("reset", () => sent.replaceChildren());
  return group;
}

// The number of a text, or of a word that was chosen; null if nothing is left of it.
function writtenDown(field, name, form) {
  const data = new FormData(form);
  const chosen = data.get(name) ?? "other";
  if (field.known.length && chosen !== "other") {
    return BigInt(field.known[Number(chosen.slice("known-".length))].bits);
  }
  const typed = data.get(`${name}-text`) ?? "";
  if (field.no_answer && typed.trim() === "") {
    return BigInt(field.no_answer);
  }
  const { text: own } = normalized(field, typed);
  return own === "" ? null : bitsOf(field, own);
}

// Options to tick, and one that excludes them: none of these, or no answer.
function ticks(question, field, name, theirs, words) {
  const most = field.at_most < field.ticks.length ? field.at_most : 0;
  const how = filled(most ? words.ticks_at_most : words.ticks, { number: most }).join("");
  const over = element("p", { class: "note", role: "status" });
  const alone = [["nothing", words.none_of_these], ...(question.has_missing ? [["none", words.rather_not]] : [])];
  const group = element("div", {}, element("p", { class: "note" }, how));
  for (const [value, text, of] of [...field.ticks.map((text, number) => [number, text, theirs]), ...alone.map(([value, text]) => [value, text, OURS])]) {
    group.append(element("label", { class: "choice" }, element("input", { type: "checkbox", name, value }), element("span", of, text)));
  }
  const boxes = [...group.querySelectorAll("input")];
  const isAlone = (box) => !/^\d+$/.test(box.value);
  group.addEventListener("change", ({ target }) => {
    for (const box of boxes) {
      if (target.checked && box !== target && (isAlone(target) || isAlone(box))) {
        box.checked = false;
      }
    }
    const isOver = most && boxes.filter((box) => box.checked && !isAlone(box)).length > most;
    over.textContent = isOver ? filled(words.ticks_over, { number: most }).join("") : "";
  });
  group.append(over);
  return group;
}

function number(question, { lower, upper, clip, whole }, name, theirs, words) {
  const range = whole ? words.range_whole : words.range;
  const said = [filled(range, { lower: written(lower), upper: written(upper) }).join(""), ...(clip ? [words.clip] : []), ...(question.has_missing ? [words.empty] : [])];
  const input = element("input", { type: "number", name, id: name, step: whole ? 1 : "any", inputmode: "decimal" });
  return element("label", { class: "number" }, element("span", {}, said.join("; ")), input);
}

// Whether a question is asked, as a form stands.
export function isAsked({ after }, form) {
  return !after || new FormData(form).getAll(`answer-${after.question}-0`).includes(String(after.answer));
}

// The answer of whoever is not asked, as the randomizer takes it: the text of nothing, or the last answer.
export function notAsked({ fields: [field], names }) {
  const last = names.length - 1;
  return field.code ? 0n : field.ticks ? names.map((_, option) => (option === last ? 1 : 0)) : last;
}

// Number of a question's last answers that are none.
function noAnswers({ has_missing: hasMissing, after }) {
  return (hasMissing ? 1 : 0) + (after ? 1 : 0);
}

// The answer in a form, as the randomizer takes it; null if it is missing or not valid.
export function answerOf(question, place, form) {
  if (question.fields[0].code) {
    return writtenDown(question.fields[0], `answer-${place}-0`, form);
  }
  if (question.fields[0].ticks) {
    return ticked(question, new FormData(form).getAll(`answer-${place}-0`));
  }
  const found = question.fields.map((field, part) => {
    const text = new FormData(form).get(`answer-${place}-${part}`) ?? "";
    if (field.edges && question.has_missing && text.trim() === "") {
      return "none";
    }
    return field.answers ? chosen(text) : inRange(text, field);
  });
  if (found.includes(null)) {
    return null;
  }
  if (found.includes("none")) {
    return question.names.length - noAnswers(question);
  }
  const numbers = question.fields.map(({ edges }, part) => (edges ? bin(found[part], edges) : found[part]));
  const last = question.fields.at(-1);
  return numbers.length === 1 ? numbers[0] : numbers[0] * last.answers.length + numbers[1];
}

// An array of 0 and 1, one for each option, and for what is no answer; null without any tick.
function ticked({ fields, has_missing: hasMissing, after }, values) {
  if (values.length === 0) {
    return null;
  }
  const told = fields[0].ticks.map((_, option) => (values.includes(String(option)) ? 1 : 0));
  return [...told, ...(hasMissing ? [values.includes("none") ? 1 : 0] : []), ...(after ? [0] : [])];
}

function chosen(text) {
  if (text === "") {
    return null;
  }
  return text === "none" ? "none" : Number(text);
}

function inRange(text, { lower, upper, clip, whole }) {
  const number = text.trim() === "" ? NaN : Number(text);
  if (!Number.isFinite(number) || (whole && !Number.isInteger(number)) || (!clip && (number < lower || number > upper))) {
    return null;
  }
  return Math.min(Math.max(number, lower), upper);
}

// The bin of a number; one at an edge belongs to the bin above it, one at the last edge to the last bin.
function bin(number, edges) {
  return Math.min(edges.filter((edge) => edge <= number).length - 1, edges.length - 2);
}

// A randomized report in words, each in its language.
export function inWords(question, report, theirs, words) {
  const said = contentOf(question.model, report);
  const { categories, number, part, parts, option, ticked: isTicked, shares, bits, ones, empty } = said;
  if (shares !== undefined) {
    return filled(words.shares, { number: shares });
  }
  if (bits !== undefined) {
    return filled(words.ones, { number: bits, ones });
  }
  if (part !== undefined) {
    return filled(words.text_part, { part, parts, number });
  }
  if (option !== undefined) {
    return filled(isTicked ? words.ticked : words.not_ticked, { option: named(question, option, theirs) });
  }
  if (categories === undefined) {
    return [written(number)];
  }
  const some = categories.slice(0, MOST_CHOICES);
  const shown = some.flatMap((place, index) => [index ? "; " : "", named(question, place, theirs)]);
  const more = categories.length - some.length;
  const nothing = question.fields[0].ticks ? words.none_of_these : words.nothing;
  return [...(shown.length ? shown : [nothing]), more ? `; ${filled(words.more, { number: more }).join("")}` : "", empty ? `; ${filled(words.empty_messages, { number: empty }).join("")}` : ""];
}

// An answer by its number: a person's own words but for bins, and for none, which the page names.
function named(question, place, theirs) {
  const isOurs = question.fields[0].edges || place >= question.names.length - noAnswers(question);
  return element("span", isOurs ? OURS : theirs, question.names[place]);
}
