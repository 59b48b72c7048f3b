// The randomizers of shuffledp, from the same integers as in Python: a random word of 64 bits is compared with a
// threshold out of 2^64, and no float decides anything. The same words give the same reports, to the bit.
//
// A model is the public description of a randomizer as Python writes it, with its integers as text, since numbers of
// JavaScript hold 53 bits. A function takes the model, the number of an answer (a number in the model's range, or ticks),
// and `words(count)`, an array of that many random words as BigInt; it returns the bytes of the report.

import { WORDS, WORD_BITS, bytesOf, gridPosition, numberIn, numberOf, placed, responded, secureWords, uniform, uniforms } from "./draws.js";
import { countedBits, splitAndMix } from "./sums.js";
import { integer, joined, sha256 } from "./wire.js";

// ---- categories

// k-ary randomized response.
function karyResponse(model, answer, words) {
  return numberOf(responded(model, answer, words), BigInt(model.domain_size) - 1n);
}

// The response under a blanket: after it messages that are empty, or have a uniform answer, by a coin each.
function blanketed(model, answer, words) {
  const size = BigInt(model.domain_size);
  const slots = Number(model.slots);
  const response = responded(model, answer, words);
  const hiding = uniforms(size, slots, words);
  const drawn = [...words(slots)];
  return [response, ...hiding.map((other, slot) => (drawn[slot] < BigInt(model.full) ? other : size))].map((each) => numberOf(each, size));
}

// Optimized unary encoding: every bit is an exact coin, and then the bit of the answer a fair one.
function unaryEncoding(model, answer, words) {
  const size = Number(model.domain_size);
  const width = Math.ceil(size / 8);
  const bits = new Uint8Array(8 * Math.ceil(width / 8));
  const view = new DataView(bits.buffer);
  coins(Math.ceil(width / 8), BigInt(model.false_words), words).forEach((lane, place) => {
    view.setBigUint64(8 * place, lane, true);
  });
  const report = bits.slice(0, width);
  if (size % 8) {
    report[width - 1] &= (1 << size % 8) - 1;
  }
  const own = words(1)[0] < WORDS / 2n ? 1 : 0;
  report[answer >> 3] = (report[answer >> 3] & ~(1 << (answer & 7))) | (own << (answer & 7));
  return report;
}

// Lanes of 64 coins that are 1 with probability threshold / 2^64: their binary places are compared with those of the
// threshold, the most significant first, 64 coins at a time, until all are decided.
function coins(count, threshold, words) {
  const lanes = new Array(count).fill(0n);
  let open = lanes.map((_, lane) => [lane, WORDS - 1n]);
  for (let place = 63n; place >= 0n && open.length && threshold % (2n << place) !== 0n; place -= 1n) {
    const drawn = words(open.length);
    const isSet = (threshold >> place) & 1n;
    open = open.map(([lane, undecided], index) => {
      const word = drawn[index];
      if (isSet) {
        lanes[lane] |= undecided & ~word & (WORDS - 1n);
        return [lane, undecided & word];
      }
      return [lane, undecided & ~word & (WORDS - 1n)];
    }).filter(([, undecided]) => undecided !== 0n);
  }
  return lanes;
}

// Hadamard response: a word decides the sign, another the column, which moves to its partner if its sign is the other.
function hadamardResponse(model, answer, words) {
  const size = BigInt(model.domain_size);
  const bits = BigInt(size.toString(2).length);
  const row = BigInt(answer) + 1n;
  const [sign, column] = words(2);
  let index = column >> (WORD_BITS - bits);
  const isOdd = (row & index).toString(2).replaceAll("0", "").length % 2 === 1;
  if (isOdd !== sign < BigInt(model.false_words)) {
    index ^= row & -row;
  }
  return numberOf(index, (1n << bits) - 1n);
}

// ---- numbers in a range

// The mean from one bit: the nearer the number is to the upper end, the more words lead to 1.
function oneBit(model, number, words) {
  const share = BigInt(model.response.share);
  const spread = WORDS - 2n * share;
  const [index, rest] = gridPosition(model, number, 1n);
  const threshold = ((rest * spread) >> WORD_BITS) + spread * index + share;
  return Uint8Array.of(words(1)[0] < threshold ? 1 : 0);
}

// The rounded mean: a number becomes one of the grid points beside it, which goes through randomized response.
function rounded(model, number, words) {
  const point = placed(model, number, BigInt(model.response.domain_size) - 1n, words);
  return karyResponse(model.response, point, words);
}

// ---- texts: the number of a code

const KEY_BITS = 62n;
const SHARES = 5n;  // of equal size for each part: 4 of 5 are those of the levels, and the last one is that of estimates

// One part of a code, drawn by chance: a piece, plus a hash of the pieces before it; or a hash of the whole code.
async function maskedPrefix(model, answer, words) {
  const bits = BigInt(BigInt(model.response.domain_size).toString(2).length - 1);
  const levels = (BigInt(model.num_bits) + bits - 1n) / bits;
  const code = BigInt(answer) << (levels * bits - BigInt(model.num_bits));
  const [drawn] = words(1);
  const [seed] = words(1);
  const quarter = ((drawn * SHARES * levels) >> WORD_BITS) / (SHARES - 1n);
  const part = quarter < levels ? quarter : levels;
  const prefix = code >> ((levels - part) * bits);
  const piece = part < levels ? (code >> ((levels - 1n - part) * bits)) & ((1n << bits) - 1n) : 0n;
  const hash = part > 0n ? await hashed(prefix, part * bits, seed, bits) : 0n;
  const value = responded(model.response, (hash + piece) & ((1n << bits) - 1n), words);
  return joined(bytesOf(part, 1), bytesOf(seed, 8), numberOf(value, (1n << bits) - 1n));
}

// The top bits of a x + b modulo 2^128, with a and b from a seed: x is the prefix, or a fingerprint of a long one.
async function hashed(prefix, size, seed, bits) {
  const long = size > KEY_BITS && await sha256(integer(Number(size), 2), bytesOf(prefix, Math.ceil(Number(size) / 8)));
  const key = long ? numberIn(long.slice(0, 8)) >> (WORD_BITS - KEY_BITS) : prefix;
  const drawn = await sha256(bytesOf(seed, 8));
  return ((numberIn(drawn.slice(0, 16)) * key + numberIn(drawn.slice(16))) % (1n << 128n)) >> (128n - bits);
}

// ---- ticks: which options a person ticked, as an array of 0 and 1

// At most so many of the ticks: of more, those with the least words are kept.
function kept(ticks, most, words) {
  if (ticks.filter(Boolean).length <= most) {
    return ticks;
  }
  const drawn = words(ticks.length);
  const ticked = ticks.map((_, place) => place).filter((place) => ticks[place]);
  ticked.sort((one, other) => (drawn[one] < drawn[other] ? -1 : drawn[one] > drawn[other] ? 1 : one - other));
  const chosen = new Set(ticked.slice(0, most));
  return ticks.map((_, place) => (chosen.has(place) ? 1 : 0));
}

function aboutOption(model, option, ticked) {
  return joined(numberOf(BigInt(option), BigInt(model.num_options) - 1n), Uint8Array.of(ticked));
}

// A message about every option: each is turned into its opposite by as many words as `share`.
function tickColumns(model, ticks, words) {
  const told = kept(ticks, Number(model.at_most), words);
  const drawn = words(told.length);
  return told.map((tick, option) => aboutOption(model, option, tick ^ (drawn[option] < BigInt(model.share) ? 1 : 0)));
}

// A message about one option, drawn by chance.
function oneOption(model, ticks, words) {
  const told = kept(ticks, Number(model.at_most), words);
  const option = Number(uniform(BigInt(model.num_options), words));
  return aboutOption(model, option, told[option] ^ (words(1)[0] < BigInt(model.share) ? 1 : 0));
}

// All sets of options, in the order of their numbers: by size, and then by their options.
function sets(size, most) {
  const found = [];
  const grow = (chosen, from, left) => {
    if (left === 0) {
      found.push(chosen);
      return;
    }
    for (let option = from; option <= size - left; option += 1) {
      grow([...chosen, option], option + 1, left - 1);
    }
  };
  for (let count = 0; count <= most; count += 1) {
    grow([], 0, count);
  }
  return found;
}

// k-ary randomized response on the number of the set of ticks.
function allSets(model, ticks, words) {
  const told = kept(ticks, Number(model.at_most), words);
  const every = sets(told.length, Number(model.at_most));
  const own = told.map((_, place) => place).filter((place) => told[place]).join();
  const answer = every.findIndex((each) => each.join() === own);
  return karyResponse({ domain_size: every.length, share: model.share }, answer, words);
}

// ---- what a report says

// The numbers of the categories for which a test holds.
function categoriesWhere(model, holds) {
  return { categories: Array.from({ length: Number(model.domain_size) }, (_, place) => place).filter(holds) };
}

function oneCategory(model, report) {
  return { categories: [Number(numberIn(report))] };
}

function categoriesOfBits(model, report) {
  return categoriesWhere(model, (place) => (report[place >> 3] >> (place & 7)) & 1);
}

function categoriesOfColumn(model, report) {
  const column = numberIn(report);
  return categoriesWhere(model, (place) => (column & BigInt(place + 1)).toString(2).replaceAll("0", "").length % 2 === 0);
}

function oneEnd(model, report) {
  return { number: numberIn(report) === 1n ? model.upper : model.lower };
}

function gridPoint(model, report) {
  const { lower, upper, response } = model;
  const shown = lower + ((upper - lower) * Number(numberIn(report))) / (Number(response.domain_size) - 1);
  return { number: Number(shown.toPrecision(6)) };
}

// The part of a text that a report is about, of so many, and its number.
function partOfText(model, report) {
  const bits = BigInt(model.response.domain_size).toString(2).length - 1;
  return { part: report[0] + 1, parts: Math.ceil(Number(model.num_bits) / bits) + 1, number: Number(numberIn(report.slice(9))) };
}

function optionIn(message) {
  return Number(numberIn(message.slice(0, -1)));
}

// The options that messages say were ticked.
function tickedOptions(model, messages) {
  return { categories: messages.filter((each) => each.at(-1) === 1).map(optionIn) };
}

// The option that a message is about, and whether it says that it was ticked.
function oneTick(model, message) {
  return { option: optionIn(message), ticked: message.at(-1) === 1 };
}

function oneSet(model, report) {
  return { categories: sets(Number(model.num_options), Number(model.at_most))[Number(numberIn(report))] };
}

// The answers in messages, of which the first is a person's own response; empty ones have the number after the last.
function answersAmongOthers(model, messages) {
  const found = messages.map((each) => Number(numberIn(each)));
  const categories = found.filter((each) => each < Number(model.domain_size));
  return { categories, empty: found.length - categories.length };
}

// So many numbers, each of which is uniform by itself.
function numbersOfChance(model, messages) {
  return { shares: messages.length };
}

function numberOfOnes(model, messages) {
  return { ones: messages.filter(([bit]) => bit === 1).length, bits: messages.length };
}

// By kind: how an answer is randomized, and what a report says (the numbers of `categories`, or a `number`).
export const KINDS = {
  "k-rr": [karyResponse, oneCategory],
  "oue": [unaryEncoding, categoriesOfBits],
  "hadamard": [hadamardResponse, categoriesOfColumn],
  "one-bit-mean": [oneBit, oneEnd],
  "rounded-mean": [rounded, gridPoint],
  "masked-prefix": [maskedPrefix, partOfText],
  "columns": [tickColumns, tickedOptions],
  "one-option": [oneOption, oneTick],
  "all-sets": [allSets, oneSet],
  "k-rr-blanket": [blanketed, answersAmongOthers],
  "split-and-mix": [splitAndMix, numbersOfChance],
  "counted-bits": [countedBits, numberOfOnes],
};

// The bytes of a report on an answer, by the randomizer that a model describes; an array of them for several messages,
// and of a text a promise of them.
export function randomized(model, answer, words = secureWords) {
  const [randomize] = KINDS[model.kind];
  return randomize(model, answer, words);
}

// What a report says, by the randomizer that a model describes.
export function contentOf(model, report) {
  const [, read] = KINDS[model.kind];
  return read(model, report);
}
