// Short texts as they are sent: normalized, and as numbers of one length, to the bit as in Python.

import { UNKNOWN } from "./assigned.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz -'";
const WHOLE = { "ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "ø": "o", "Ø": "o", "đ": "d", "Đ": "d", "ð": "d", "Ð": "d", "ł": "l", "Ł": "l", "þ": "th", "Þ": "th", "ı": "i", "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00b4": "'", "`": "'", "\u2010": "-", "\u2011": "-", "\u2013": "-" };
const BLANKS = /[\t\n\v\f\r \x1c-\x1f\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const ENCODER = new TextEncoder();

function trimmed(text) {
  return text.replace(/ +/g, " ").replace(/^ | $/g, "");
}

function asLetters(text, length) {
  const whole = [...text.replace(UNKNOWN, "\ufffd")].map((each) => WHOLE[each] ?? each).join("");
  const plain = whole.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[A-Z]/g, (each) => each.toLowerCase());
  const folded = trimmed(plain.replace(BLANKS, " "));
  const kept = trimmed([...folded].map((each) => (LETTERS.includes(each) ? each : " ")).join(""));
  const cut = trimmed(kept.slice(0, length));
  return { text: cut, isLess: cut !== folded };
}

function asBytes(text, length) {
  const blanks = text.replace(BLANKS, " ");
  const known = blanks.replace(UNKNOWN, "").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, "");
  const plain = trimmed(known.toLowerCase().normalize("NFC"));
  let cut = "";
  for (const each of plain) {
    if (ENCODER.encode(cut + each).length > length) {
      break;
    }
    cut += each;
  }
  cut = trimmed(cut);
  return { text: cut, isLess: cut !== plain || known !== blanks };
}

// The text that is sent of a text, and whether more of it is left out than case, accents and blanks at its ends.
export function normalized({ code, length }, text) {
  return code === "letters" ? asLetters(text, length) : asBytes(text, length);
}

// The number of a normalized text, as a BigInt: its first symbol in the highest bits, and zeros after the last one.
export function bitsOf({ code, length }, text) {
  const symbols = code === "letters" ? [...text].map((each) => LETTERS.indexOf(each) + 1) : [...ENCODER.encode(text)];
  const width = code === "letters" ? 5n : 8n;
  return Array.from({ length }, (_, place) => BigInt(symbols[place] ?? 0)).reduce((bits, each) => (bits << width) | each, 0n);
}
