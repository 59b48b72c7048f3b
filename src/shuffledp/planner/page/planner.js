// The planner's page. It computes nothing: every number and every sentence about one comes from the answer to a question.

import { drawChart, drawn, element, rounded, sample } from "./drawing.js";

// The one way out of this page. A copy without a server sets `window.shuffledpAsk`, from a question to a promise of its answer.
const ask = window.shuffledpAsk ?? (async question => {
  const found = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
  return found.ok ? found.json() : { refused: `The planner answered ${found.status}: ${await found.text()}` };
});

// name, label, group of controls, scale of the slider or "choice", and of which answers or randomizers it is
const CONTROLS = [
  ["people", "People", "people", "log"],
  ["colluders", "Colluders", "people", "colluders"],
  ["repetitions", "Repetitions", "people", "log"],
  ["epsilon0", "Local loss epsilon0", "answers", "log"],
  ["delta", "Remainder delta", "answers", "log"],
  ["categories", "Categories", "answers", "log", "category multi-select blanketed"],
  ["ticks", "Ticks that are kept", "answers", "log", "multi-select"],
  ["lower", "Least answer", "answers", null, "number"],
  ["upper", "Largest answer", "answers", null, "number"],
  ["dimension", "Coordinates", "answers", "log", "vector"],
  ["length", "Letters of a text", "answers", "log", "open"],
  ["hosts", "Hosts of the shuffles", "answers", "log", "split-and-mix vector-sum"],
  ["colluding_hosts", "of whom collude", "answers", "linear", "split-and-mix vector-sum"],
  ["buffers", "Messages of a host", "answers", "choice", "split-and-mix vector-sum"],
  ["imperfection", "imperfect: gamma", "shufflers", "linear"],
  ["alpha", "mallows, noisy-sort: alpha", "shufflers", "log"],
  ["group_size", "mallows, noisy-sort: group", "shufflers", "log"],
  ["contacts", "network: contacts", "shufflers", "log"],
];
const WHOLE = ["people", "colluders", "repetitions", "categories", "ticks", "dimension", "length", "group_size", "contacts", "hosts", "colluding_hosts"];
const CHOICES = { buffers: { message: "apart", host: "one buffer" } };
const SLIDERS = { people: [10, 1e7], delta: [1e-12, 1e-2], epsilon0: [0.1, 10], imperfection: [0, 2], alpha: [0.1, 10], contacts: [5, 1e4], hosts: [1, 50], colluding_hosts: [0, 20], group_size: [2, 1e5], repetitions: [1, 100] };
const CURVE = { "": [100, 316, 1000, 3162, 10000, 31623, 100000, 316228, 1000000], groups: [100, 1000, 10000, 100000], graph: [100, 1000, 10000, 100000, 1000000] };
const STEPS = 1000, PATIENCE = 150, KEPT = 2000, NOTHING = "\u2013";
const TRIES = 3;  // of a question whose answer comes too late: it waits for all others, and has more time then

const byId = id => document.getElementById(id);
let choices, ways, generation = 0, asked = 0, answered = 0;
const promises = {}, guesses = {}, curves = {}, cache = new Map();
let jobs = [], busy = false;

// ---- controls

function ends(name) {
  const [least, most] = SLIDERS[name] ?? choices.limits[name];
  return name === "colluders" ? [0, Math.max(Number(byId("people").value) - 1, 0)] : [least, most];
}

function fromSlider(name, scale, position) {
  const [least, most] = ends(name), share = position / STEPS;
  if (scale === "colluders") return position === 0 ? 0 : Math.min(most, Math.max(1, rounded(Math.pow(Math.max(most, 1), share), 2)));
  const value = scale === "log" ? least * Math.pow(most / least, share) : least + share * (most - least);
  if (name === "delta") return Number(`1e${Math.round(Math.log10(value))}`);
  const digits = rounded(value, WHOLE.includes(name) && value >= 100 ? 2 : 3);
  return WHOLE.includes(name) ? Math.round(digits) : digits;
}

function toSlider(name, scale, value) {
  const [least, most] = ends(name);
  if (scale === "colluders") return value < 1 || most < 1 ? 0 : Math.max(1, STEPS * Math.log(value) / Math.max(Math.log(most), 1e-9));
  const share = scale === "log" ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
  return Math.round(STEPS * Math.min(Math.max(share, 0), 1));
}

function addControl([name, label, group, scale, only]) {
  if (scale === "choice") return addChoice(name, label, group, only);
  const number = element("input", { id: name, type: "number", value: choices.usual[name], step: "any" });
  const control = element("p", { class: "control", "data-only": only ?? "" }, element("label", { for: name }, label), number);
  if (scale) {
    const step = name === "delta" ? 100 : 10;
    const slider = element("input", { id: `${name}-slider`, type: "range", min: 0, max: STEPS, step, "aria-label": `${label}, as a slider` });
    const follow = () => { slider.value = toSlider(name, scale, Number(number.value)); describe(); };
    const describe = () => slider.setAttribute("aria-valuetext", number.value);
    slider.addEventListener("input", () => { number.value = fromSlider(name, scale, Number(slider.value)); describe(); changed(); });
    number.addEventListener("input", () => { follow(); changed(); });
    number.addEventListener("follow", follow);
    control.append(slider);
  } else {
    number.addEventListener("input", () => changed());
  }
  byId(`${group}-controls`).append(control);
  number.dispatchEvent(new Event("follow"));
}

function addChoice(name, label, group, only) {
  const select = element("select", { id: name }, ...Object.entries(CHOICES[name]).map(([value, text]) => element("option", { value }, text)));
  select.value = choices.usual[name];
  select.addEventListener("input", () => changed());
  byId(`${group}-controls`).append(element("p", { class: "control", "data-only": only }, element("label", { for: name }, label), select));
}

function addRandomizers() {
  const names = { category: "Categories", number: "Numbers", vector: "Vectors", "multi-select": "Ticks", blanketed: "Categories under a blanket", open: "Open answers" }, select = byId("randomizer");
  for (const [answers, label] of Object.entries(names)) {
    const kinds = choices.randomizers.filter(each => each.answers === answers);
    select.append(element("optgroup", { label }, ...kinds.map(each => element("option", { value: each.kind }, each.kind))));
  }
  select.value = choices.usual.randomizer;
  select.addEventListener("input", () => { fit(); changed(); });
  fit();
}

function fit() {
  const own = choices.randomizers.find(each => each.kind === byId("randomizer").value);
  byId("randomizer-note").textContent = own.best_for;
  for (const each of document.querySelectorAll(".control[data-only]")) each.hidden = each.dataset.only !== "" && !each.dataset.only.split(" ").some(of => of === own.answers || of === own.kind);
  document.querySelector("label[for=epsilon0]").textContent = own.loss;
}

function question(about, shuffler, more = {}) {
  const meant = (scale, value) => scale === "choice" ? value : value === "" ? null : Number(value);
  const set = Object.fromEntries(CONTROLS.map(([name, , , scale]) => [name, meant(scale, byId(name).value)]));
  return { about, shuffler, randomizer: byId("randomizer").value, ...set, ...more };
}

// ---- asking: one question after the other; what is asked anew takes the place of what still waits

let waiting;
function changed() {
  byId("colluders").dispatchEvent(new Event("follow"));
  byId("copy").disabled = byId("save").disabled = true;  // until the task is there that is asked for
  clearTimeout(waiting);
  waiting = setTimeout(askAll, PATIENCE);
}

function askAll() {
  generation += 1;
  jobs = [];
  for (const each of document.querySelectorAll("#numbers tbody tr, .card, #task, #legend li, #ways")) each.classList.add("stale");
  const kinds = choices.shufflers.map(each => each.kind);
  asked = answered = 0;
  for (const kind of kinds) add(question("promise", kind), found => { promises[kind] = found; showPromise(kind); });
  for (const kind of kinds) add(question("guesses", kind), found => { guesses[kind] = found; showGuesses(kind); });
  for (const each of choices.shufflers) addCurve(each);
  add(question("ways", "uniform"), found => { ways = found; showWays(); });
  work();
}

function addCurve({ kind, about, most_people: most }) {
  const people = [...new Set([...CURVE[about], question().people])].filter(each => each >= 2 && each <= most).sort((one, other) => one - other);
  const found = [];
  for (const each of people) {
    add(question("bracket", kind, { people: each }), answer => {
      found.push({ people: each, ...answer });
      if (found.length < people.length) return;
      curves[kind] = found;
      byId(`key-${kind}`).classList.remove("stale");
      showCurves();
    });
  }
}

function add(asking, show) {
  asked += 1;
  jobs.push({ asking, show, generation, tries: 1 });
}

async function work() {
  if (busy) return;
  busy = true;
  while (jobs.length) {
    const job = jobs.shift(), found = await answerTo(job.asking);
    if (job.generation !== generation) continue;
    if (found.too_late && job.tries < TRIES) {
      jobs.push({ ...job, tries: job.tries + 1 });
      continue;
    }
    answered += 1;
    job.show(found);
    byId("status").textContent = answered < asked ? `${answered} of ${asked} answers` : `All ${asked} answers are for what is set.`;
  }
  busy = false;
}

async function answerTo(asking) {
  const key = JSON.stringify(asking);
  if (!cache.has(key)) {
    let found;
    try { found = await ask(asking); } catch { return { refused: "The planner does not answer; was it stopped?" }; }
    if (found.too_late) return found;  // and is asked again
    if (cache.size >= KEPT) cache.delete(cache.keys().next().value);
    cache.set(key, found);
  }
  return cache.get(key);
}

// ---- showing

function showPromise(kind) {
  showRow(kind);
  showCard(kind);
  if (byId("chosen").value === kind) showTask();
}

function showGuesses(kind) {
  if (guesses[kind].note) byId("guess-note").textContent = guesses[kind].note;
  showRow(kind);
  showCard(kind);
}

function showRow(kind) {
  const found = promises[kind], row = byId(`row-${kind}`), name = element("th", { scope: "row" }, kind);
  if (!found) return;
  row.classList.remove("stale");
  if (found.refused) {
    row.replaceChildren(name, element("td", { class: "refused", colspan: 8 }, found.refused));
    return;
  }
  const { epsilon, error, curator, sampling, bits, messages } = found.cells;
  const right = ["uninformed", "strong"].map(known => guesses[kind]?.shown ? marked(learned(guesses[kind], known)) : NOTHING);
  const heads = [...document.querySelectorAll("#numbers thead th")].slice(1).map(each => each.textContent);
  const cells = [epsilon, error, curator, sampling, ...right, bits, messages].map((text, place) => element("td", { "data-head": heads[place] }, text));
  row.replaceChildren(name, ...cells);
}

// The bar of all that is done; that of what was known before does not count as one.
const learned = (found, known) => found.shown[known].bars.slice(1).at(-1);

// A chance is exact unless it is marked as a bound.
const marked = bar => !bar ? NOTHING : bar.note ? `${bar.value} (${bar.note === "lower and upper bound" ? "bounds" : bar.note})` : bar.value;

function showCard(kind) {
  const found = promises[kind], parts = [element("div", {}, element("h3", {}, kind), element("p", { class: "note" }, choices.shufflers.find(each => each.kind === kind).best_for))];
  if (!found) return;
  if (found.refused) {
    const commands = found.commands ? [element("pre", {}, found.commands.join("\n"))] : [];
    parts.push(element("div", { class: "rest" }, element("p", { class: "refused" }, found.refused), ...commands));
  } else {
    const first = found.dangers.length ? [element("h4", { class: "first" }, "First of all, it holds only as long as")] : [];
    const danger = element("div", {}, ...first, ...[...found.dangers, ...found.warnings].map(each => element("p", { class: "danger" }, each)));
    const remarks = found.remarks.map(each => element("p", { class: "note" }, each));
    const [label, value] = found.promise.numbers[0] ?? ["", "Nothing is promised"];
    const weak = found.promise.weakness ? [element("p", { class: "danger" }, found.promise.weakness)] : [];
    const others = found.trust.filter(each => !found.dangers.includes(each));
    parts.push(
      danger,
      element("div", {}, element("p", { class: "big" }, element("small", {}, `${label} `), value), ...weak, element("p", {}, found.bracket), ...remarks),
      element("div", {}, element("h4", {}, "Costs"), element("p", {}, found.expected)),
      element("div", {}, element("h4", {}, "Guesses about one person"), ...guessed(guesses[kind])),
      element("div", {}, element("h4", {}, "It holds as long as"), element("ul", {}, ...others.map(each => element("li", {}, each)))),
      element("div", {}, element("h4", {}, "What is left if one of them fails, other than the device"), element("p", {}, found.left.sentence)),
    );
  }
  const card = byId(`card-${kind}`);
  card.classList.remove("stale");
  card.replaceChildren(...parts);
}

function guessed(found) {
  if (!found) return [element("p", { class: "note" }, "\u2026")];
  if (found.refused) return [element("p", { class: "note" }, found.refused)];
  const before = found.shown.uninformed.bars[0], rows = [["Before", before]];
  for (const each of Object.values(found.shown)) rows.push([each.who, each.bars.slice(1).at(-1)]);
  return [element("table", { class: "bars" }, element("tbody", {}, ...rows.map(([name, bar]) => barRow(name, bar))))];
}

function barRow(name, bar) {
  if (!bar) return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, "not known"), element("td", { class: "bar" }));
  const picture = drawn("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
  picture.append(drawn("rect", { class: "before", x: 0, y: 0, width: bar.before, height: 8 }));
  picture.append(drawn("rect", { class: "learned", x: bar.before, y: 0, width: bar.length, height: 8 }));
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "bar" }, picture), element("td", {}, marked(bar)));
}

function showTask() {
  const found = promises[byId("chosen").value];
  byId("task").classList.remove("stale");
  byId("task").textContent = found?.task ?? found?.refused ?? "";
  byId("commands").textContent = (found?.commands ?? []).join("\n");
  byId("copy").disabled = byId("save").disabled = !found?.task;
  byId("copied").textContent = "";
}

async function copyTask() {
  const text = byId("task").textContent;
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(byId("task"));
    byId("copied").textContent = "It is marked: copy it with your keyboard.";
  }
}

async function savePage() {
  byId("save").disabled = true;
  byId("copied").textContent = "Writing \u2026";
  const found = await answerTo(question("page", byId("chosen").value));
  byId("save").disabled = false;
  byId("copied").textContent = found.refused ?? "Saved as plan.html.";
  if (found.refused) return;
  const link = element("a", { href: URL.createObjectURL(new Blob([found.page], { type: "text/html" })), download: "plan.html" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// On a narrow screen numbers come before sliders: these wait in a fold.
function foldOnNarrow() {
  const wide = matchMedia("(min-width: 56rem)"), follow = () => { byId("settings").open = wide.matches; };
  wide.addEventListener("change", follow);
  follow();
}

// ---- curves

function showCurves() {
  const lines = choices.shufflers.flatMap(({ kind }, place) => [["epsilon_lower", "lower"], ["epsilon_upper", ""]].map(([end, look]) => (
    { points: (curves[kind] ?? []).map(each => [each.people, each[end]]), place, look }
  )));
  const label = "Epsilon by the number of people, a line for each shuffler; the numbers are in the table below.";
  drawChart(byId("chart"), lines, { up: "epsilon", label, here: question().people });
  showCurveNumbers();
}

function showCurveNumbers() {
  const kinds = choices.shufflers.map(each => each.kind).filter(kind => curves[kind]);
  const people = [...new Set(kinds.flatMap(kind => curves[kind].map(each => each.people)))].sort((one, other) => one - other);
  const head = element("thead", {}, element("tr", {}, ...["People", ...kinds].map(each => element("th", { scope: "col" }, each))));
  const rows = people.map(number => element("tr", {}, element("th", { scope: "row" }, number.toLocaleString("en-US")), ...kinds.map(kind => {
    const found = curves[kind].find(each => each.people === number);
    return element("td", {}, found?.cells?.[0] ?? NOTHING);
  })));
  byId("curves").replaceChildren(head, element("tbody", {}, ...rows));
}

// ---- ways to a mean, whatever its randomizer

function showWays() {
  const found = ways?.refused ? null : ways?.sections?.[0];
  byId("ways").hidden = !found;
  byId("ways").classList.remove("stale");
  if (!found) return;
  byId("ways-heading").textContent = found.title;
  byId("ways-texts").replaceChildren(...found.texts.map(each => element("p", {}, each.replace(/e-(\d)/g, "e\u2060-\u2060$1"))));
  const label = `Error by the number of people, a line for each way: ${found.curves.map(each => each.name).join(", ")}.`;
  const lines = found.curves.map((each, place) => ({ points: each.people.map((people, one) => [people, each.values[one]]), place, look: "" }));
  drawChart(byId("ways-chart"), lines, { up: "error", label, here: question().people });
  byId("ways-legend").replaceChildren(...found.curves.map(({ name }, place) => element("li", {}, sample(place), name)));
  byId("ways-caption").textContent = found.caption;
  const head = element("tr", {}, ...found.heads.map(each => element("th", { scope: "col" }, each)));
  const rows = found.rows.map(([{ text, note }, ...cells]) => element("tr", {}, element("th", { scope: "row" }, text, element("span", { class: "note" }, note)), ...cells.map(({ text, bold }, place) => (
    element("td", { "data-head": found.heads[place + 1] }, bold ? element("b", {}, text) : text)
  ))));
  byId("ways-table").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
}

// ---- the page

async function start() {
  foldOnNarrow();
  choices = await answerTo({ about: "choices" });
  if (choices.refused) { byId("status").textContent = choices.refused; return; }
  byId("version").textContent = choices.library_version;
  CONTROLS.forEach(addControl);
  addRandomizers();
  choices.shufflers.forEach(({ kind }, place) => {
    byId("numbers").tBodies[0].append(element("tr", { id: `row-${kind}` }, element("th", { scope: "row" }, kind)));
    byId("cards").append(element("article", { id: `card-${kind}`, class: "card" }));
    byId("chosen").append(element("option", { value: kind }, kind));
    byId("legend").append(element("li", { id: `key-${kind}` }, sample(place), kind));
  });
  byId("chosen").addEventListener("input", showTask);
  byId("copy").addEventListener("click", copyTask);
  byId("save").addEventListener("click", savePage);
  byId("controls").addEventListener("submit", event => event.preventDefault());
  new ResizeObserver(() => { showCurves(); showWays(); }).observe(byId("chart"));
  askAll();
}

start();
