// What a browser remembers of a collection: the sealed upload until it is stored, and then that it has answered. Never
// an answer, and never a randomized one.
//
// Whoever randomizes the same answer often can be averaged out. So what is sealed is written down before anything is
// shown or sent, and sent again as it is; one tab at a time, so that two cannot each seal an answer. It is remembered of
// the page, whichever link it was opened by: links that differ in the digest lead to different ids, and not to a second
// answer.

import { fromText, inText } from "./wire.js";

const DONE = "answered";

export class Memory {
  // Of a page by its digest, for the collection that it asks for.
  constructor(page, id, storage = localStorage, locks = navigator.locks) {
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
    const text = `${this.id} ${inText(upload)}`;
    this.storage.setItem(this.key, text);
    if (this.storage.getItem(this.key) !== text) {
      throw new Error("this browser keeps nothing");
    }
  }

  // The shuffler has it: only that is remembered.
  stored() {
    this.storage.setItem(this.key, DONE);
  }

  // It is sealed to a key that has expired, and nobody has it: nothing is remembered.
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
