// The messages between a device and the shuffler, byte by byte as docs/protocol.md writes them.

const ENCODER = new TextEncoder();

export const UPLOAD_TYPE = "application/vnd.shuffledp.upload";
export const PLAIN_TYPE = "application/vnd.shuffledp.plain-upload";
export const INVALID = Symbol("not as the protocol says");

// Why a submission was refused, as far as a person can do something about it.
export const ERRORS = { 1: "late", 3: "full", 4: "otherKey", 7: "late", 10: "early", 11: "otherKey", 131: "spent" };

export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// An integer in so many bytes, the most significant first.
export function integer(value, width) {
  return Uint8Array.from({ length: width }, (_, byte) => Math.floor(value / 256 ** (width - 1 - byte)) % 256);
}

function opaque(data, width) {
  return joined(integer(data.length, width), data);
}

// Bytes from base64url, and back; without padding.
export function fromText(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
}

export function inText(data) {
  const text = btoa(Array.from(data, (each) => String.fromCharCode(each)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)));
}

// The 32 bytes by which everybody knows a collection, from its file.
export function collectionId(file) {
  return sha256(ENCODER.encode("shuffledp collection v1"), ENCODER.encode(file));
}

// A public key of the analyzer with its algorithms.
export function decodedConfig(data) {
  const number = (at) => data[at] * 256 + data[at + 1];
  return { id: data[0], kem: number(1), kdf: number(3), aead: number(5), publicKey: data.slice(9, 9 + number(7)) };
}

// What a report is bound to: that a client wrote it for the analyzer, the collection and the column.
export function reportInfo(id, column) {
  return joined(ENCODER.encode("shuffledp-1 report"), Uint8Array.of(1, 0), id, integer(column, 2));
}

// A report on its way: its id, public extensions, if it has any, and the ciphertext, whose digest the id is.
export async function report(configId, enc, payload, extensions = new Uint8Array(0)) {
  const id = (await sha256(enc, payload)).slice(0, 16);
  return joined(id, opaque(extensions, 2), Uint8Array.of(configId), opaque(enc, 2), opaque(payload, 4));
}

// Reports that are not encrypted, inside a local network: after a name of chance, by which they count once.
export function plainUpload(plaintexts) {
  return joined(crypto.getRandomValues(new Uint8Array(16)), ...plaintexts);
}

// The key that an upload is sealed to, by its id.
export function configIdOf(upload) {
  return upload[18];
}

// What became of an upload of one submission: null if it is stored, a number if it was refused, or INVALID.
export function refusal(answer, upload) {
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  if (answer.length !== 4 + 17 + 4) {
    return INVALID;
  }
  const refused = view.getUint32(0);
  const end = 4 + refused;
  const isZero = answer.slice(end + 4).every((each) => each === 0);
  if ((refused !== 0 && refused !== 17) || view.getUint32(end) !== 17 - refused || !isZero) {
    return INVALID;
  }
  if (refused === 0) {
    return null;
  }
  return answer.slice(4, 20).every((each, place) => each === upload[place]) && answer[20] ? answer[20] : INVALID;
}
