// Sending: the very same bytes until somebody says what became of them.

import { ERRORS, INVALID, UPLOAD_TYPE, refusal } from "./wire.js";

const FIRST_WAIT = 200;  // milliseconds
const LONGEST_WAIT = 5000;
const LONGEST_ANSWER = 20000;
const PATIENCE = 60000;
const TRY_AGAIN = [429, 502, 503, 504];

// What became of an upload: "stored", "unreachable", or why it was refused: a value of ERRORS, or "refused". A header
// field spends a token; there is another `way` than a direct one, and another `type` than a sealed one.
export async function send(address, upload, { spending = {}, type = UPLOAD_TYPE, ...further } = {}) {
  const answer = await asked(address, upload, { "Content-Type": type, ...spending }, further);
  if (answer === null) {
    return "unreachable";
  }
  const error = answer.status === 200 ? refusal(answer.body, upload) : INVALID;
  if (error === null) {
    return "stored";
  }
  return error === INVALID ? "refused" : ERRORS[error] ?? "refused";
}

// Whether uploads come through, before an invitation is used for one: without a token they are refused by that name. Null,
// or why not.
export async function tried(address, further = {}) {
  const answer = await asked(address, new Uint8Array(0), { "Content-Type": UPLOAD_TYPE }, further);
  if (answer === null) {
    return "unreachable";
  }
  const said = new TextDecoder().decode(answer.body);
  if (said.includes(":unauthorizedRequest\"")) {
    return "late";
  }
  return said.includes(":unauthorizedToken\"") ? null : "refused";
}

// The status and the body of an answer, which is asked for again while there is none; null if there is none in time, or
// the device has no connection, which the browser tells when it is back.
export async function asked(address, body, headers, further = {}) {
  const { way = posted, patience = PATIENCE, clock = () => performance.now() } = further;
  const end = clock() + patience;
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const found = await way(address, body, headers);
    const answer = TRY_AGAIN.includes(found?.status) ? null : found;
    if (answer !== null || navigator.onLine === false || clock() + wait > end) {
      return answer;
    }
    await new Promise((done) => setTimeout(done, wait * (0.5 + Math.random())));  // a pause, and nothing secret
  }
}

// The status and the body of an answer; null if there is none.
export async function posted(address, body, headers) {
  try {
    const answer = await fetch(address, {
      method: "POST",
      body,
      headers,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(LONGEST_ANSWER),
    });
    return { status: answer.status, body: new Uint8Array(await answer.arrayBuffer()) };
  } catch {
    return null;
  }
}
