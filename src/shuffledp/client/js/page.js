// The page: asks, randomizes and seals, shows what will be sent, sends it, and remembers that it has.

import { isInvitation, obtain, spending } from "./invited.js";
import { Memory } from "./memory.js";
import { throughRelay } from "./oblivious.js";
import { answered, element, inWords, shownQuestion } from "./questions.js";
import { randomized } from "./randomizers.js";
import { submission } from "./sealing.js";
import { send } from "./sending.js";
import { collectionId, configIdOf, decodedConfig, fromText, inText } from "./wire.js";

const DATA = JSON.parse(document.getElementById("data").textContent);
const UNFINISHED = '"page":{"sha256":""';  // where the digest of this page belongs, which it cannot hold itself
const COLLECTION = JSON.parse(DATA.collection);
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

const SAID = {
  file: ["This is a copy to look at: it randomizes as the page does, and sends nothing.", "note"],
  insecure: ["This page must be opened over https: on the way to you somebody may have changed it. It sends nothing.", "danger"],
  incomplete: ["The link is not complete. Open it as it was sent to you, with all that follows the #. Nothing can be sent.", "danger"],
  forgetful: ["This browser may not remember that you have answered, so that the page sends nothing. Allow it to keep site data, or use another browser.", "danger"],
  old: ["This browser cannot encrypt for the analyst (X25519). Use a newer one. Nothing was sent.", "danger"],
  pending: ["Your randomized answer is sealed on this device, and not known to have arrived. Sending it again sends the same: it counts once.", "note"],
  sending: ["Sending …", "note"],
  stored: ["Stored by the shuffler. Thank you. This browser remembers that it has answered, and not what.", "good"],
  answered: ["This browser has answered already. A second answer would protect you less, and bend the result.", "good"],
  elsewhere: ["This browser has sealed an answer to this survey by another link. Open that one again; if this one is right, tell whoever asked you.", "danger"],
  unreachable: ["The shuffler did not answer. Your sealed answer stays on this device, and is sent again when there is a connection, or when you ask for it here, now or later. It counts once.", "danger"],
  late: ["The collection is closed. Your answer was not taken in.", "danger"],
  early: ["The collection is not open yet. Your sealed answer stays on this device: open this page again when it has opened.", "danger"],
  dropped: ["The shuffler could not store it. Your sealed answer stays on this device: send it again later.", "danger"],
  expired: ["The key that it was sealed to has expired, so that nobody can take it. Please answer again.", "danger"],
  issuerAway: ["The issuer of tokens did not answer. Your sealed answer stays on this device: send it again later.", "danger"],
  misSigned: ["The issuer of tokens did not sign what it was asked to. Nothing was sent; tell whoever asked you.", "danger"],
  used: ["This invitation has been used in another browser. Send your answer from there. Nothing was sent from here.", "danger"],
  uninvited: ["The issuer of tokens does not know this invitation, or the collection is closed. Nothing was sent; tell whoever asked you.", "danger"],
  spent: ["By this invitation somebody has answered already. Your answer was not taken in; tell whoever asked you.", "danger"],
  refused: ["The shuffler refused it. Your sealed answer stays on this device; tell whoever asked you.", "danger"],
};

const at = (id) => document.getElementById(id);
const memory = {};  // of this collection; without one, nothing is kept and nothing sent
let wasUnreachable = false;  // and will be asked again as soon as there is a connection
let reports = null;  // randomized here and now, to be sealed anew if the analyzer's key is another by now

// ---- what is said

function say(what) {
  const [text, look] = SAID[what];
  at("notice").replaceChildren(element("p", { class: look }, text));
}

function show(...parts) {
  for (const part of ["questions", "review", "sending"]) {
    at(part).hidden = !parts.includes(part);
  }
}

function introduce() {
  const day = (text) => element("time", { datetime: text }, text.slice(0, 16).replace("T", " "));
  at("title").textContent = COLLECTION.task.name;
  at("title").lang = DATA.language;
  at("facts").append("Open until ", day(COLLECTION.closes), " UTC.");
  at("sentences").append(...DATA.sentences.map((each) => element("p", {}, each)));
  at("in-full").append(...DATA.promise.map((each) => element("p", {}, each)));
  at("trust").append(...DATA.trust.map(([text, isDanger]) => element("li", { class: isDanger ? "danger" : null }, text)));
  at("check").append(...DATA.check.map((each) => element("p", {}, each)));
  at("reasons").append(...DATA.questions.map(({ text, why }) => element("p", {}, element("strong", {}, text), ` ${why}`)));
  at("contact").textContent = DATA.contact ? `Questions about this survey: ${DATA.contact}` : "";
  at("fields").append(...DATA.questions.map((each, place) => shownQuestion(each, place, DATA.language)));
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
  const answers = DATA.questions.map((each, place) => answered(each, place, at("questions")));
  const open = answers.indexOf(null);
  if (open >= 0) {
    at("wrong").textContent = `Please answer: ${DATA.questions[open].text}`;
    at(`question-${open}`).querySelector("input, select").focus();
    return;
  }
  at("wrong").textContent = "";
  reports = DATA.questions.map(({ model }, place) => randomized(model, answers[place]));
  if (memory.held && !await kept()) {
    return;
  }
  at("questions").reset();
  at("randomized").replaceChildren(...DATA.questions.flatMap((each, place) => [
    element("dt", { lang: DATA.language }, each.text), element("dd", { lang: DATA.language }, inWords(each, reports[place])),
  ]));
  at("notice").replaceChildren();
  show("review", ...(memory.held ? ["sending"] : ["questions"]));
  at("review-title").focus();
}

// Whether what was randomized is sealed and kept; if another tab was faster, or it cannot be kept, it is forgotten.
async function kept() {
  try {
    if (await memory.held.keepOnce(() => submission(configs()[0], memory.id, reports))) {
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
  at("send").disabled = true;
  say("sending");
  const outcome = await delivered();
  at("send").disabled = false;
  if (outcome === "stored") {
    memory.held.stored();
    reports = null;
    show();
  } else if (outcome === "expired") {
    memory.held.outdated();
    show("questions");
  } else {
    show(...(reports ? ["review"] : []), "sending");
    at("send").textContent = "Send again";
    wasUnreachable = outcome === "unreachable" || outcome === "issuerAway";
  }
  say(outcome);
}

// What became of the upload that is kept, sealed to one key of the analyzer after the other while it has to be.
async function delivered() {
  const address = `${COLLECTION.shuffler.url}/collections/${inText(memory.id)}/reports`;
  if (COLLECTION.issuer) {
    const why = await obtain(COLLECTION, memory.id, memory.invitation, memory.held).catch(() => "forgetful");
    if (why !== null) {
      return why;
    }
  }
  const options = COLLECTION.issuer ? { spending: spending(memory.held.token) } : {};
  if (COLLECTION.relay) {
    options.way = throughRelay(COLLECTION, configs(COLLECTION.gateway));
  }
  const successors = configs().slice(1);
  for (;;) {
    const upload = memory.held.upload;
    const outcome = await send(address, upload, options);
    if (outcome !== "otherKey") {
      return outcome;
    }
    const successor = successors.shift();
    if (!reports || !successor) {
      return configs().some(({ id }) => id === configIdOf(upload)) ? "refused" : "expired";
    }
    memory.held.replace(await submission(successor, memory.id, reports));
  }
}

// ---- the beginning

// Where a person left it, here or in another tab.
function resume() {
  const { state } = memory.held;
  if (state === "nothing") {
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
  at("questions").addEventListener("submit", whenAnswered);
  at("send").addEventListener("click", whenSent);
  addEventListener("online", () => wasUnreachable && whenSent());
  const [, digest, invitation] = /^#page=([0-9a-f]{64})(?:&invitation=([A-Za-z0-9_-]+))?$/.exec(location.hash) ?? [];
  const isSecure = location.protocol === "https:" || (location.protocol === "http:" && LOOPBACK.includes(location.hostname));
  if (!isSecure || !digest) {
    const why = location.protocol === "file:" ? "file" : "insecure";
    say(isSecure ? "incomplete" : why);
    show(...(location.protocol === "file:" ? ["questions"] : []));
    return;
  }
  try {
    memory.id = await collectionId(DATA.collection.replace(UNFINISHED, `${UNFINISHED.slice(0, -1)}${digest}"`));
    memory.held = new Memory(await collectionId(DATA.collection), memory.id);
    memory.invitation = invitation;
    if (COLLECTION.issuer && !isInvitation(COLLECTION, invitation) && memory.held.token === null && memory.held.state !== "answered") {
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
