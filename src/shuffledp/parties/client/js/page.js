// The page: asks, randomizes and seals, shows what will be sent, sends it, and remembers that it has.

import { hostsOf, sentToAll, uploads } from "./hosts.js";
import { isInvitation, obtain, spending } from "./invited.js";
import { Memory } from "./memory.js";
import { throughRelay } from "./oblivious.js";
import { answerOf, element, filled, inWords, isAsked, notAsked, shownQuestion } from "./questions.js";
import { randomized } from "./randomizers.js";
import { submission } from "./sealing.js";
import { send, tried } from "./sending.js";
import { PLAIN_TYPE, collectionId, configIdOf, decodedConfig, fromText, inText, plainUpload } from "./wire.js";

const DATA = JSON.parse(document.getElementById("data").textContent);
const UNFINISHED = '"page":{"sha256":""';  // where the digest of this page belongs, which it cannot hold itself
const COLLECTION = JSON.parse(DATA.collection);
const IS_LOCAL = COLLECTION.local === true;  // of one operator, over plain http, for which browsers do not encrypt
const HOSTS = hostsOf(COLLECTION);
const THEIRS = { lang: DATA.language };  // of what is asked; all else is in the language of the page
const SETTLED = ["stored", "answered", "late"];  // after which people only wait for the result
const FINAL = ["late", "spent", "full"];  // refusals that sending again does not change
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

const WORDS = DATA.words;
const LOOKS = { file: "note", pending: "note", sending: "note", stored: "good", answered: "good" };  // all else: "danger"

const at = (id) => document.getElementById(id);
const memory = {};  // of this collection; without one, nothing is kept and nothing sent
let wasUnreachable = false;  // and will be asked again as soon as there is a connection
let reports = null;  // randomized here and now, to be sealed anew if the analyzer's key is another by now

// ---- what is said

function say(what) {
  const further = SETTLED.includes(what) && DATA.result ? [element("p", { class: "note" }, ...whereResultIs())] : [];
  at("notice").replaceChildren(element("p", { class: LOOKS[what] ?? "danger" }, WORDS.said[what]), ...further);
  at("notice").scrollIntoView({ block: "nearest" });  // on a small screen it is far from what was pressed
}

function show(...parts) {
  for (const part of ["questions", "review", "sending"]) {
    at(part).hidden = !parts.includes(part);
  }
}

// A point in time as people know it who are where the browser is, with the zone.
function inLocalTime(text) {
  const how = { year: "numeric", month: "long", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
  return element("time", { datetime: text }, new Date(text).toLocaleString(document.documentElement.lang, how));
}

function whereResultIs() {
  const [before, after] = DATA.result;
  return [before, element("a", { href: COLLECTION.result }, COLLECTION.result), after];
}

function introduce() {
  const [before, after] = DATA.until;
  at("facts").append(before, inLocalTime(COLLECTION.closes), after, ...(DATA.result ? [" ", ...whereResultIs()] : []));
  at("sentences").append(...DATA.dangers.map((each) => element("p", { class: "danger" }, each)));
  at("sentences").append(...DATA.sentences.map((each) => element("p", {}, each)));
  at("sentences").lastChild.append(" ", element("span", { lang: "en" }, DATA.meaning));
  at("sentences").prepend(...DATA.alone.dangers.map((each) => element("p", { class: "danger" }, each)));
  at("sentences").append(...DATA.alone.notes.map((each) => element("p", {}, each)));
  at("in-full").append(...DATA.promise.map((each) => element("p", {}, each)));
  at("trust").append(...DATA.trust.map(([text, isDanger]) => element("li", { class: isDanger ? "danger" : null }, text)));
  at("check").append(...DATA.check.map((each) => element("p", {}, each)));
  at("reasons").append(...DATA.questions.map(({ text, why }) => element("p", {}, element("strong", THEIRS, text), ` ${why}`)));
  at("contact").textContent = DATA.contact;
  at("fields").append(...DATA.questions.map((each, place) => shownQuestion(each, place, THEIRS, WORDS)));
}

// Questions that come after an answer that is not given are hidden, and their fields are no part of the form.
function ask() {
  DATA.questions.forEach((each, place) => {
    const group = at(`question-${place}`);
    group.hidden = group.disabled = !isAsked(each, at("questions"));
  });
}

// ---- from an answer to what is sealed

function configs(published = COLLECTION.analyzer.key, now = new Date()) {
  const { key, successors, expires } = published;
  const hasExpired = expires !== null && now >= new Date(expires);
  const texts = hasExpired && successors.length ? successors : [key, ...successors];
  return texts.map((each) => decodedConfig(fromText(each)));
}

async function whenAnswered(event) {
  event.preventDefault();
  ask();
  const form = at("questions");
  const answers = DATA.questions.map((each, place) => (isAsked(each, form) ? answerOf(each, place, form) : notAsked(each)));
  const open = answers.indexOf(null);
  if (open >= 0) {
    at("wrong").replaceChildren(...filled(WORDS.please, { question: element("span", THEIRS, DATA.questions[open].text) }));
    at(`question-${open}`).querySelector("input, select").focus();
    return;
  }
  at("wrong").textContent = "";
  const own = await Promise.all(DATA.questions.map(({ model }, place) => randomized(model, answers[place])));  // messages
  reports = own.flat();
  if (memory.held && !await kept()) {
    return;
  }
  form.reset();
  ask();
  at("randomized").replaceChildren(...DATA.questions.flatMap((each, place) => [
    element("dt", THEIRS, each.text), element("dd", {}, ...inWords(each, own[place], THEIRS, WORDS)),
  ]));
  at("notice").replaceChildren();
  show("review", ...(memory.held ? ["sending"] : ["questions"]));
  at("review-title").focus();
}

// What is kept and sent of the reports.
function made(config) {
  if (IS_LOCAL) {
    return plainUpload(reports);
  }
  return HOSTS.length > 1 ? uploads(config, memory.id, reports, DATA.pools, DATA.hosts) : submission(config, memory.id, reports, DATA.pools);
}

// Whether what was randomized is sealed and kept; if another tab was faster, or it cannot be kept, it is forgotten.
async function kept() {
  try {
    if (await memory.held.keepOnce(() => made(configs()[0]))) {
      return true;
    }
    resume();
  } catch (error) {
    say(error.name === "NotSupportedError" || error.name === "DeserializeError" ? "old" : "forgetful");
  }
  reports = null;
  return false;
}

// ---- sending

async function whenSent() {
  wasUnreachable = false;
  const hadFocus = document.activeElement === at("send");
  at("send").disabled = true;
  say("sending");
  const outcome = await delivered();
  at("send").disabled = false;
  if (outcome === "stored") {
    memory.held.stored(HOSTS.length);
    reports = null;
    show();
  } else if (outcome === "expired") {
    memory.held.outdated();
    show("questions");
  } else {
    show(...(reports ? ["review"] : []), ...(FINAL.includes(outcome) ? [] : ["sending"]));
    at("send").textContent = WORDS.again;
    if (hadFocus) {
      at("send").focus();  // which it lost when it was disabled
    }
    wasUnreachable = outcome === "unreachable" || outcome === "issuerAway";
  }
  say(outcome);
}

// What became of an upload to a shuffler, by its number from 0, whose token is asked for first where people are invited.
async function sentTo(host, upload) {
  const address = `${HOSTS[host]}/collections/${inText(memory.id)}/reports`;
  const options = COLLECTION.relay ? { way: throughRelay(COLLECTION, configs(COLLECTION.gateway)) } : {};
  if (COLLECTION.issuer) {
    const token = memory.held.tokenAt(host);
    const way = () => tried(address, options);
    const why = await obtain(COLLECTION, memory.id, memory.invitation, token, HOSTS[host], way).catch(() => "forgetful");
    if (why !== null) {
      return why;
    }
    options.spending = spending(token.token);
  }
  return send(address, upload, options);
}

// What became of what is kept: of an upload, sealed to one key of the analyzer after the other while it has to be, or of those
// to several hosts.
async function delivered() {
  if (IS_LOCAL) {
    return send(location.pathname, memory.held.upload, { type: PLAIN_TYPE });
  }
  if (HOSTS.length > 1) {
    const outcome = await sentToAll(memory.held, sentTo);
    return outcome === "otherKey" ? "refused" : outcome;  // hosts take all keys that the collection names
  }
  const successors = configs().slice(1);
  for (;;) {
    const upload = memory.held.upload;
    const outcome = await sentTo(0, upload);
    if (outcome !== "otherKey") {
      return outcome;
    }
    const successor = successors.shift();
    if (!reports || !successor) {
      return configs().some(({ id }) => id === configIdOf(upload)) ? "refused" : "expired";
    }
    memory.held.replace(await made(successor));
  }
}

// ---- the beginning

// Where a person left it, here or in another tab.
function resume() {
  const { state } = memory.held;
  if (state === "nothing") {
    at("notice").replaceChildren();  // of an answer that this browser has forgotten meanwhile
    show("questions");
  } else if (state !== "pending") {
    show();
    say(state);
  } else if (at("sending").hidden) {
    show("sending");
    say("pending");
  }
}

async function begin() {
  introduce();
  ask();
  at("questions").addEventListener("submit", whenAnswered);
  at("questions").addEventListener("change", ask);
  addEventListener("pageshow", ask);  // when the browser may have filled in what was answered before
  at("send").addEventListener("click", whenSent);
  addEventListener("online", () => wasUnreachable && whenSent());
  const [, digest, invitation] = /^#page=([0-9a-f]{64})(?:&invitation=([A-Za-z0-9_-]+))?$/.exec(location.hash) ?? [];
  const isPlain = location.protocol === "http:" && (IS_LOCAL || LOOPBACK.includes(location.hostname));
  const isSecure = location.protocol === "https:" || isPlain;
  if (!isSecure || !(digest || IS_LOCAL)) {
    const why = location.protocol === "file:" ? "file" : "insecure";
    say(isSecure ? "incomplete" : why);
    show(...(location.protocol === "file:" ? ["questions"] : []));
    return;
  }
  if (typeof globalThis.crypto?.getRandomValues !== "function") {
    say("noChance");
    return;
  }
  try {
    memory.id = IS_LOCAL ? fromText(COLLECTION.nonce) : await collectionId(DATA.collection.replace(UNFINISHED, `${UNFINISHED.slice(0, -1)}${digest}"`));
    memory.held = new Memory(IS_LOCAL ? memory.id : await collectionId(DATA.collection), memory.id);
    memory.invitation = invitation;
    if (COLLECTION.issuer && !isInvitation(COLLECTION, invitation) && memory.held.tokenAt(0).token === null && memory.held.state !== "answered") {
      say("incomplete");
      show();
      return;
    }
    memory.held.whenChanged(resume);
    resume();
  } catch {
    say("forgetful");
    show();
  }
}

begin();
