// A token of Privacy Pass, type 2 (RFC 9578): blinded here, signed by the issuer, who cannot read it, and checked here.
//
// Blind signatures are those of RFC 9474, RSABSSA-SHA384-PSS-Deterministic, of 2048 bits. BigInt is not constant-time:
// its times tell of the blinding, to whoever measures this device.

import { fromText, inText, integer, joined, sha256 } from "./wire.js";

const TYPE = Uint8Array.of(0, 2);
const MODULUS = 256;  // bytes
const HASH = 48;  // bytes, of SHA-384 and of the salt
const EXPONENT = 65537n;
const ENCODER = new TextEncoder();
const NETLOC = 2;  // scheme, nothing, host and port

// What tokens of a collection are for: the digest of its challenge (RFC 9577, section 2.1).
export function challengeDigest(collection, id, shuffler) {
  const [issuer, origin] = [collection.issuer.url, shuffler].map((url) => ENCODER.encode(url.split("/")[NETLOC]));
  return sha256(TYPE, integer(issuer.length, 2), issuer, Uint8Array.of(id.length), id, integer(origin.length, 2), origin);
}

// The issuer's key, which ends in its modulus and exponent, with its id.
export async function issuerKey(text) {
  const data = fromText(text);
  const modulus = data.slice(-5 - MODULUS, -5);
  return { id: await sha256(data), modulus, n: numberFrom(modulus), exponent: data.slice(-3) };
}

// What is to be signed, and waits until it is: the request for the issuer, a nonce, and what takes the blinding off. Given
// are nonce, salt and factor of a test vector, and of nothing else.
export async function pendingToken(key, challenge, { nonce = random(32), salt = random(HASH), factor = unit(key.n) } = {}) {
  const encoded = numberFrom(await encodedForPss(joined(TYPE, nonce, challenge, key.id), salt));
  const blinded = encoded * power(factor, EXPONENT, key.n) % key.n;
  return joined(TYPE, key.id.slice(-1), written(blinded), nonce, written(inverse(factor, key.n)));
}

const REQUEST = 2 + 1 + MODULUS;

export function requestOf(pending) {
  return pending.slice(0, REQUEST);
}

// The token; null if the issuer has signed something else.
export async function finalized(key, challenge, pending, blindSignature) {
  const signed = joined(TYPE, pending.slice(REQUEST, REQUEST + 32), challenge, key.id);
  const unblinded = numberFrom(blindSignature) * numberFrom(pending.slice(REQUEST + 32)) % key.n;
  const signature = written(unblinded);
  const isSigned = blindSignature.length === MODULUS && await verifies(key, signed, signature);
  return isSigned ? joined(signed, signature) : null;
}

async function verifies(key, signed, signature) {
  const jwk = { kty: "RSA", alg: "PS384", n: inText(key.modulus), e: inText(key.exponent), ext: true };
  const imported = await crypto.subtle.importKey("jwk", jwk, { name: "RSA-PSS", hash: "SHA-384" }, false, ["verify"]);
  return crypto.subtle.verify({ name: "RSA-PSS", saltLength: HASH }, imported, signature, signed);
}

// ---- RSA

async function sha384(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-384", joined(...parts)));
}

// EMSA-PSS-ENCODE (RFC 8017, section 9.1.1), one bit shorter than the modulus.
async function encodedForPss(message, salt) {
  const digest = await sha384(new Uint8Array(8), await sha384(message), salt);
  const block = joined(new Uint8Array(MODULUS - salt.length - HASH - 2), Uint8Array.of(1), salt);
  const masks = [];
  for (let part = 0; part * HASH < block.length; part += 1) {  // MGF1 (RFC 8017, appendix B.2.1)
    masks.push(await sha384(digest, integer(part, 4)));
  }
  const mask = joined(...masks);
  const masked = block.map((byte, place) => byte ^ mask[place]);
  masked[0] &= 0x7f;
  return joined(masked, digest, Uint8Array.of(0xbc));
}

// ---- numbers

function random(length) {
  return crypto.getRandomValues(new Uint8Array(length));
}

function numberFrom(data) {
  return data.reduce((total, byte) => total * 256n + BigInt(byte), 0n);
}

function written(number) {
  const text = number.toString(16).padStart(2 * MODULUS, "0");
  return Uint8Array.from(text.match(/../g), (each) => parseInt(each, 16));
}

// A random number below the modulus that has an inverse: all but those of which nobody ever draws one.
function unit(modulus) {
  for (;;) {
    const drawn = numberFrom(random(MODULUS));
    if (drawn > 0n && drawn < modulus) {
      return drawn;
    }
  }
}

function power(base, exponent, modulus) {
  let [result, square] = [1n, base];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) {
      result = result * square % modulus;
    }
    square = square * square % modulus;
  }
  return result;
}

function inverse(number, modulus) {
  let [rest, next, factor, following] = [modulus, number, 0n, 1n];
  while (next !== 0n) {
    const times = rest / next;
    [rest, next, factor, following] = [next, rest - times * next, following, factor - times * following];
  }
  return ((factor % modulus) + modulus) % modulus;
}
