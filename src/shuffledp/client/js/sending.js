// Sending: the very same bytes until the shuffler says what became of them.

import { ERRORS, INVALID, UPLOAD_TYPE, refusal } from "./wire.js";

const FIRST_WAIT = 200;  // milliseconds
const LONGEST_WAIT = 5000;
const LONGEST_ANSWER = 20000;
const PATIENCE = 60000;
const TRY_AGAIN = [429, 502, 503, 504];

// What became of an upload: "stored", "unreachable", or why it was refused: a value of ERRORS, or "refused".
export async function send(address, upload, { patience = PATIENCE, clock = () => performance.now() } = {}) {
  const end = clock() + patience;
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const outcome = await attempt(address, upload);
    if (outcome !== "unreachable" || clock() + wait > end) {
      return outcome;
    }
    await new Promise((done) => setTimeout(done, wait * (0.5 + Math.random())));  // a pause, and nothing secret
  }
}

async function attempt(address, upload) {
  let answer;
  let body;
  try {
    answer = await fetch(address, {
      method: "POST",
      body: upload,
      headers: { "Content-Type": UPLOAD_TYPE },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(LONGEST_ANSWER),
    });
    body = new Uint8Array(await answer.arrayBuffer());
  } catch {
    return "unreachable";
  }
  if (!answer.ok) {
    return TRY_AGAIN.includes(answer.status) ? "unreachable" : "refused";
  }
  const error = refusal(body, upload);
  if (error === null) {
    return "stored";
  }
  return error === INVALID ? "refused" : ERRORS[error] ?? "refused";
}
