// Sums over several hosts: each gets an upload of its own, with the shares for it, and one set id of chance names all
// uploads of a person. All are made and kept before one is sent, and a host that is away gets the same later.

import { sealed } from "./sealing.js";
import { integer, joined } from "./wire.js";

const SET_ID = 2;  // type of the extension
const SET_ID_BYTES = 16;
const LENGTH_BYTES = 4;  // before each upload

// Where a collection's reports go, in the order of its hosts.
export function hostsOf(collection) {
  return [collection.shuffler, ...(collection.further_shufflers ?? [])].map(({ url }) => url);
}

// Uploads of a person to all hosts, one after the other: the first message of each has the set id beside it.
export async function uploads(config, id, plaintexts, pools, hosts) {
  const setId = crypto.getRandomValues(new Uint8Array(SET_ID_BYTES));
  const extension = joined(integer(SET_ID, 2), integer(SET_ID_BYTES, 2), setId);
  const reports = await Promise.all(plaintexts.map((each, message) => {
    const isFirst = hosts.indexOf(hosts[message]) === message;
    return sealed(config, id, pools[message], each, { extensions: isFirst ? extension : undefined });
  }));
  const all = Array.from({ length: Math.max(...hosts) + 1 }, (_, host) => joined(...reports.filter((_, message) => hosts[message] === host)));
  return joined(...all.flatMap((each) => [integer(each.length, LENGTH_BYTES), each]));
}

// The upload for each host in what `uploads` made.
export function apart(kept) {
  const found = [];
  const view = new DataView(kept.buffer, kept.byteOffset, kept.byteLength);
  for (let at = 0; at < kept.length; at += LENGTH_BYTES + found.at(-1).length) {
    found.push(kept.slice(at + LENGTH_BYTES, at + LENGTH_BYTES + view.getUint32(at)));
  }
  return found;
}

// What became of a person's uploads, sent by `send(host, upload)` in an order of chance to all hosts that have not stored
// theirs: "stored" if now all have, or else why one has not, a refusal rather than an absence.
export async function sentToAll(held, send) {
  const all = apart(held.upload);
  const order = all.map((upload, host) => ({ host, upload, place: crypto.getRandomValues(new Uint32Array(1))[0] }));
  const outcomes = [];
  for (const { host, upload } of order.sort((one, other) => one.place - other.place)) {
    const outcome = held.isStoredAt(host) ? "stored" : await send(host, upload);
    if (outcome === "stored") {
      held.storedAt(host);
    } else {
      outcomes.push(outcome);
    }
  }
  return outcomes.find((each) => each !== "unreachable") ?? outcomes[0] ?? "stored";
}
