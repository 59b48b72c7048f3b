// What a browser remembers of a collection: the sealed upload, and the token that it spends, until it is stored; and then
// that it has answered. Never an answer, and never a randomized one.
//
// Whoever randomizes the same answer often can be averaged out. So what is sealed is written down before anything is
// shown or sent, and sent again as it is; one tab at a time, so that two cannot each seal an answer. It is remembered of
// the page, whichever link it was opened by: links that differ in the digest lead to different ids, and not to a second
// answer.

import { fromText, inText } from "./wire.js";

const DONE = "answered";
const NO_LOCKS = { request: (_, work) => work() };  // over plain http: two tabs in the same moment may both answer

export class Memory {
  // Of a page by its digest, for the collection that it asks for.
  constructor(page, id, storage = localStorage, locks = navigator.locks ?? NO_LOCKS) {
    this.key = `shuffledp ${inText(page)}`;
    this.id = inText(id);
    this.storage = storage;
    this.locks = locks;
  }

  // "nothing", "pending" (an upload waits), "elsewhere" (one for another id does) or "answered".
  get state() {
    const held = this.storage.getItem(this.key);
    if (held === null || held === DONE) {
      return held ?? "nothing";
    }
    return held.startsWith(`${this.id} `) ? "pending" : "elsewhere";
  }

  // The upload that waits.
  get upload() {
    return fromText(this.storage.getItem(this.key).split(" ")[1]);
  }

  // Keep what `make` makes, which is called only if nothing is kept yet; whether that was so.
  keepOnce(make) {
    return this.locks.request(this.key, async () => {
      if (this.state !== "nothing") {
        return false;
      }
      this.replace(await make());
      return true;
    });
  }

  // Keep an upload, and make sure that it is kept.
  replace(upload) {
    this.write(this.key, `${this.id} ${inText(upload)}`);
  }

  write(key, text) {
    this.storage.setItem(key, text);
    if (this.storage.getItem(key) !== text) {
      throw new Error("this browser keeps nothing");
    }
  }

  // What is remembered of the token for a shuffler, by its number from 0.
  tokenAt(host) {
    return new TokenMemory(this, `${this.key} token${host ? ` ${host}` : ""}`);
  }

  // One of several hosts has its upload.
  storedAt(host) {
    this.storage.setItem(`${this.key} host ${host}`, this.id);
  }

  isStoredAt(host) {
    return this.storage.getItem(`${this.key} host ${host}`) === this.id;
  }

  // The shuffler has it, or all hosts have: only that is remembered.
  stored(hosts) {
    this.storage.setItem(this.key, DONE);
    for (let host = 0; host < hosts; host += 1) {
      this.storage.removeItem(this.tokenAt(host).key);
      this.storage.removeItem(`${this.key} host ${host}`);
    }
  }

  // It is sealed to a key that has expired, and nobody has it: nothing is remembered but the token.
  outdated() {
    this.storage.removeItem(this.key);
  }

  // Call back when another tab has changed what is remembered.
  whenChanged(callback) {
    addEventListener("storage", (event) => {
      if (event.key === this.key || event.key === null) {
        callback();
      }
    });
  }
}

// What a browser remembers of one token until it is spent.
class TokenMemory {
  constructor(memory, key) {
    this.memory = memory;
    this.key = key;
  }

  // The token; null if there is none yet.
  get token() {
    return this.kept("token");
  }

  // A token that the issuer is asked for; null if it has not been asked.
  get pending() {
    return this.kept("asked");
  }

  kept(kind) {
    const [id, found, text] = (this.memory.storage.getItem(this.key) ?? "").split(" ");
    return id === this.memory.id && found === kind ? fromText(text) : null;
  }

  // Keep a token, or what it will be made of, and make sure that it is kept.
  keep(kind, data) {
    this.memory.write(this.key, `${this.memory.id} ${kind} ${inText(data)}`);
  }

  // What `work` returns, while no other tab works on the token.
  alone(work) {
    return this.memory.locks.request(this.key, work);
  }
}
