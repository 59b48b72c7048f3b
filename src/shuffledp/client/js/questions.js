// The questions as a form, and what was answered as numbers.
//
// A question has fields: one, or two whose answers are randomized jointly. A field has `answers`, or the ends of a range
// of numbers, of which `edges` may make bins.

const MOST_CHOICES = 12;  // shown one below the other; more are a list to open

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

// A group with a legend for each question.
export function shownQuestion(question, place, language) {
  const group = element("fieldset", { id: `question-${place}`, lang: language }, element("legend", {}, question.text));
  question.fields.forEach((field, part) => {
    const name = `answer-${place}-${part}`;
    const isOneOfTwo = question.fields.length > 1;
    group.append(field.answers ? choices(question, field, name, isOneOfTwo) : number(question, field, name));
  });
  return group;
}

function choices(question, field, name, isOneOfTwo) {
  const answers = field.answers.map((text, number) => [number, text]);
  if (question.has_missing) {
    answers.push(["none", "I would rather not say"]);
  }
  if (answers.length > MOST_CHOICES) {
    const options = answers.map(([value, text]) => element("option", { value }, text));
    const list = element("select", { name, id: name, "aria-label": isOneOfTwo ? field.label : question.text });
    list.append(element("option", { value: "" }, "Choose …"), ...options);
    return list;
  }
  const group = element("div", isOneOfTwo ? { role: "radiogroup", "aria-label": field.label } : {});
  if (isOneOfTwo) {
    group.append(element("p", { class: "part", "aria-hidden": "true" }, field.label));
  }
  for (const [value, text] of answers) {
    group.append(element("label", { class: "choice" }, element("input", { type: "radio", name, value }), element("span", {}, text)));
  }
  return group;
}

function number(question, field, name) {
  const parts = [`A number from ${field.lower} to ${field.upper}`];
  if (field.clip) {
    parts.push("others count as the nearer end");
  }
  if (question.has_missing) {
    parts.push("leave it empty if you would rather not say");
  }
  const said = parts.join("; ");
  const input = element("input", { type: "number", name, id: name, step: "any", inputmode: "decimal" });
  return element("label", { class: "number" }, element("span", {}, said), input);
}

// What was answered, as the randomizer takes it; null if it is not answered, or not by an answer.
export function answered(question, place, form) {
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
    return question.names.length - 1;
  }
  const numbers = question.fields.map(({ edges }, part) => (edges ? bin(found[part], edges) : found[part]));
  const last = question.fields.at(-1);
  return numbers.length === 1 ? numbers[0] : numbers[0] * last.answers.length + numbers[1];
}

function chosen(text) {
  if (text === "") {
    return null;
  }
  return text === "none" ? "none" : Number(text);
}

function inRange(text, { lower, upper, clip }) {
  const number = text.trim() === "" ? NaN : Number(text);
  if (!Number.isFinite(number) || (!clip && (number < lower || number > upper))) {
    return null;
  }
  return Math.min(Math.max(number, lower), upper);
}

// The bin of a number; one at an edge belongs to the bin above it, one at the last edge to the last bin.
function bin(number, edges) {
  return Math.min(edges.filter((edge) => edge <= number).length - 1, edges.length - 2);
}

// A randomized report in words.
export function inWords(question, report) {
  const { model, names, fields } = question;
  const value = report.reduce((total, byte) => total * 256n + BigInt(byte), 0n);
  switch (model.kind) {
    case "k-rr":
      return names[Number(value)];
    case "oue":
      return listed(names.filter((_, place) => (report[place >> 3] >> (place & 7)) & 1), "no answer at all");
    case "hadamard":
      return listed(names.filter((_, place) => isSupported(value, place)), "no answer at all");
    case "one-bit-mean":
      return String(value === 1n ? fields[0].upper : fields[0].lower);
    default: {
      const { lower, upper } = fields[0];
      const shown = lower + ((upper - lower) * Number(value)) / (Number(model.response.domain_size) - 1);
      return String(Number(shown.toPrecision(6)));
    }
  }
}

function isSupported(column, place) {
  return (column & BigInt(place + 1)).toString(2).replaceAll("0", "").length % 2 === 0;
}

function listed(some, none) {
  const shown = some.slice(0, MOST_CHOICES);
  const more = some.length - shown.length;
  return shown.length ? shown.join("; ") + (more ? `; and ${more} more` : "") : none;
}
