// Random draws by comparing integers, places on a grid, and numbers as bytes: what all randomizers are made of.
//
// `words(count)` is an array of so many random words of 64 bits as BigInt.

export const WORD_BITS = 64n;
export const WORDS = 1n << WORD_BITS;

// Random words from the browser's cryptographic source.
export function secureWords(count) {
  const words = new BigUint64Array(count);
  for (let start = 0; start < count; start += 8192) {  // the most that the browser gives at once
    crypto.getRandomValues(words.subarray(start, start + 8192));
  }
  return words;
}

// ---- integers

// A whole number below a bound, each equally likely: the upper half of the product of a word, which is drawn anew where
// the lower half is below 2^64 mod bound.
export function uniform(bound, words) {
  for (;;) {
    const product = words(1)[0] * bound;
    if (product % WORDS >= WORDS % bound) {
      return product >> WORD_BITS;
    }
  }
}

// Several of them.
export function uniforms(bound, count, words) {
  return Array.from({ length: count }, () => uniform(bound, words));
}

// k-ary randomized response among 0, 1, ..., k - 1: words below the threshold keep the answer, each further share of them
// leads to the next one.
export function responded(model, answer, words) {
  const size = BigInt(model.domain_size);
  const share = BigInt(model.share);
  const truth = WORDS - share * (size - 1n);
  const [word] = words(1);
  const steps = word < truth ? 0n : (word - truth) / share + 1n;
  return (BigInt(answer) + steps) % size;
}

// ---- a grid

// The place of a number on a grid of equal steps: the grid point below, and 2^64 times the rest of a step.
export function gridPosition(model, number, steps) {
  const share = (number - model.lower) / (model.upper - model.lower);
  if (share >= 1) {
    return [steps, 0n];
  }
  const fixed = BigInt(Math.floor(share * 2 ** 64));
  return [(fixed * steps) >> WORD_BITS, (fixed * steps) % WORDS];
}

// The place of a number on the grid, rounded up or down so that it is right on average.
export function placed(model, number, steps, words) {
  const [below, rest] = gridPosition(model, number, steps);
  return words(1)[0] < rest ? below + 1n : below;
}

// ---- bytes

// A number in the fewest of 1, 2, 4 or 8 bytes that hold the largest, the most significant one first.
export function numberOf(value, largest) {
  const width = [1, 2, 4].find((bytes) => largest < 1n << BigInt(8 * bytes)) ?? 8;
  return bytesOf(value, width);
}

export function bytesOf(value, width) {
  return Uint8Array.from({ length: width }, (_, byte) => Number((value >> BigInt(8 * (width - 1 - byte))) & 255n));
}

// The number in the bytes of a report.
export function numberIn(report) {
  return report.reduce((total, byte) => total * 256n + BigInt(byte), 0n);
}
