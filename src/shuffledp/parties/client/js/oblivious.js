// The way through a relay (RFC 9458): what is meant for the shuffler is sealed to its gateway, as Binary HTTP (RFC 9292) of
// known length. The relay sees who sends, and when; the shuffler what comes, from the relay.

import { senderTo } from "./sealing.js";
import { posted } from "./sending.js";
import { integer, joined } from "./wire.js";

const ENCODER = new TextEncoder();
const REQUEST_TYPE = "message/ohttp-req";
const OTHER_KEY = /http-problem-types#ohttp-key"/;
const ANSWER_NONCE = 16;  // bytes
const SHORTEST = 1024;  // bytes of a request, before it is sealed
const [KNOWN_REQUEST, KNOWN_RESPONSE] = [0, 1];
const PASSED_ON = ["Content-Type", "Authorization"];
const NETLOC = 2;  // scheme, nothing, host and port

// What `posted` does, through the relay of a collection, or where that does not pass it on, its second one: each request is
// sealed anew, to the first of some keys that the gateway takes; nobody can name it another.
export function throughRelay(collection, configs) {
  return async (address, body, headers) => {
    const { url } = collection.shuffler;
    const fields = PASSED_ON.filter((name) => name in headers).map((name) => [name.toLowerCase(), headers[name]]);
    const inside = padded(binaryRequest("POST", url.split("/")[NETLOC], address.slice(url.length), fields, body));
    let last = null;
    for (const relay of [collection.relay, collection.second_relay].filter(Boolean)) {
      const { answer, isSealed } = await passedOn(relay, configs, inside);
      if (isSealed) {
        return answer;
      }
      last = answer ?? last;
    }
    return last;
  };
}

// The gateway's answer through one relay, or what the relay says itself; null if there is none.
async function passedOn(relay, configs, inside) {
  for (let place = 0; ; place += 1) {
    const { sealed, open } = await encapsulated(configs[place], inside);
    const answer = await posted(relay, sealed, { "Content-Type": REQUEST_TYPE });
    if (answer?.status === 200) {
      const found = await open(answer.body).then(binaryResponse).catch(() => null);  // what is not the gateway's is no answer
      return { answer: found, isSealed: found !== null };
    }
    const isAboutTheKey = answer !== null && OTHER_KEY.test(new TextDecoder().decode(answer.body));
    if (!isAboutTheKey || place + 1 === configs.length) {
      return { answer, isSealed: false };
    }
  }
}

// A request sealed to a key of the gateway, and what opens the answer to it; `ekm` is the secret of a test vector, and of
// nothing else.
export async function encapsulated(config, request, ekm = undefined) {
  const header = joined(Uint8Array.of(config.id), ...[config.kem, config.kdf, config.aead].map((each) => integer(each, 2)));
  const sender = await senderTo(config, joined(ENCODER.encode("message/bhttp request\0"), header), ekm);
  const enc = new Uint8Array(sender.enc);
  const sealed = joined(header, enc, new Uint8Array(await sender.seal(request)));
  return { sealed, open: (answer) => opened(sender, enc, answer) };
}

async function opened(sender, enc, answer) {
  const secret = await sender.export(ENCODER.encode("message/bhttp response"), ANSWER_NONCE);
  const salt = joined(enc, answer.slice(0, ANSWER_NONCE));
  const source = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const derived = (text, bits) => {
    return crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info: ENCODER.encode(text) }, source, bits);
  };
  const key = await crypto.subtle.importKey("raw", await derived("key", 128), "AES-GCM", false, ["decrypt"]);
  const iv = await derived("nonce", 96);
  return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, answer.slice(ANSWER_NONCE)));
}

// ---- Binary HTTP

export function binaryRequest(method, authority, path, fields, content) {
  const control = [method, "https", authority, path].map((text) => counted(ENCODER.encode(text)));
  const lines = fields.flat().map((text) => counted(ENCODER.encode(text)));
  return joined(size(KNOWN_REQUEST), ...control, counted(joined(...lines)), counted(content), size(0));
}

// Status and content of a response; its fields say nothing that is needed. What the end cuts off is empty.
export function binaryResponse(data) {
  let at = 0;
  const number = () => {
    const width = 1 << (data[at] >> 6);
    if (!(at + width <= data.length)) {
      throw new RangeError("a message must hold all of its parts");
    }
    const bytes = data.subarray(at, at += width);
    return bytes.reduce((total, byte, place) => total * 256 + (place ? byte : byte & 0x3f), 0);
  };
  const part = () => {
    const length = at === data.length ? 0 : number();
    if (at + length > data.length) {
      throw new RangeError("a message must hold all of its parts");
    }
    return data.slice(at, at += length);
  };
  if (number() !== KNOWN_RESPONSE) {
    throw new RangeError("a response must be of known length");
  }
  let status = number();
  for (; status < 200; status = number()) {
    part();
  }
  part();
  return { status, body: part() };
}

// To a power of two, so that the relay does not learn how long a request is.
export function padded(data) {
  let length = SHORTEST;
  while (length < data.length) {
    length *= 2;
  }
  return joined(data, new Uint8Array(length - data.length));
}

// A number of variable length (RFC 9000, section 16), below 2^30.
function size(number) {
  if (number < 1 << 6) {
    return integer(number, 1);
  }
  return number < 1 << 14 ? integer(number + (1 << 14), 2) : integer(number + 2 ** 31, 4);
}

function counted(data) {
  return joined(size(data.length), data);
}
