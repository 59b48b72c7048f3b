// The token of an invited person: asked for once, kept until it is spent, and asked for again in the same words if an
// answer is lost. What is about to be signed is kept before the issuer is asked: an invitation is good for that alone.

import { asked } from "./sending.js";
import { challengeDigest, finalized, issuerKey, pendingToken, requestOf } from "./tokens.js";
import { fromText, inText } from "./wire.js";

const CODE_LENGTH = 22;  // of an invitation in a link, in base64url
const TOKEN_LENGTH = 472;  // of one that holds the token itself
const REQUEST_TYPE = "application/private-token-request";

// Whether people answer this collection by such an invitation: by a token only where the collection says so, since
// whoever made it could tell whose it is.
export function isInvitation(collection, text) {
  return text?.length === (collection.ready_made ? TOKEN_LENGTH : CODE_LENGTH);
}

// Get a token for a shuffler, by its address, and keep it; null, or why there is none. The invitation is not used before the
// `way` of what it is for was tried.
export function obtain(collection, id, invitation, memory, shuffler, way) {
  return memory.alone(async () => {
    if (memory.token !== null) {
      return null;
    }
    if (collection.ready_made) {
      memory.keep("token", fromText(invitation));
      return null;
    }
    const isShut = await way();
    if (isShut !== null) {
      return isShut;
    }
    const key = await issuerKey(collection.issuer.key.key);
    const challenge = await challengeDigest(collection, id, shuffler);
    if (memory.pending === null) {
      memory.keep("asked", await pendingToken(key, challenge));
    }
    const pending = memory.pending;
    const headers = { "Content-Type": REQUEST_TYPE, Authorization: `Bearer ${invitation}` };
    const address = `${collection.issuer.url}/collections/${inText(id)}/token-request`;
    const answer = await asked(address, requestOf(pending), headers);
    if (answer?.status !== 200) {
      return whyNot(answer);
    }
    const token = await finalized(key, challenge, pending, answer.body);
    if (token === null) {
      return "misSigned";
    }
    memory.keep("token", token);
    return null;
  });
}

function whyNot(answer) {
  if (answer === null) {
    return "issuerAway";
  }
  return new TextDecoder().decode(answer.body).includes(":invitationUsed\"") ? "used" : "uninvited";
}

// The header field that spends a token (RFC 9577, section 2.2).
export function spending(token) {
  return { Authorization: `PrivateToken token="${inText(token)}"` };
}
