// One person's share of discrete Laplace noise (a Polya share), exact: every decision compares integers.
//
// A share is the sum of a Poisson number of jumps, each of a size k with probability in proportion to exp(-rate k) / k, up
// or down by a coin. A rate is an array of a numerator and a denominator.

import { WORD_BITS, uniforms } from "./draws.js";

const LARGEST_DENOMINATOR = 1n << 40n;
const REACH = 1n << 20n;  // jumps of so many times 1 / rate are left out: of a chance below exp(-2^20)
const GUARD = 64n;  // binary places of a computation that may be wrong

// The largest fraction of at most epsilon / steps with a denominator of at most 2^40.
export function rateOf(epsilon, steps) {
  const [numerator, denominator] = fractionOf(epsilon);
  return largestUpTo(numerator, denominator * steps);
}

// A share of the noise that any `noiseUsers` people add up to.
export function polyaShare(rate, noiseUsers, words) {
  const count = numberOfJumps(rate, noiseUsers, words);
  if (count === 0) {
    return 0n;
  }
  uniforms(1n, count, words);  // who of one person jumps
  const isDown = uniforms(2n, count, words);
  const sizes = sizesOfJumps(rate, count, words);
  return sizes.reduce((total, size, jump) => total + (isDown[jump] ? -size : size), 0n);
}

// ---- rates

// A number of JavaScript as a fraction, exactly.
function fractionOf(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 2047n) - 1075;  // of numbers that are not subnormal
  const whole = (bits & ((1n << 52n) - 1n)) | (1n << 52n);
  return exponent >= 0 ? [whole << BigInt(exponent), 1n] : reduced(whole, 1n << BigInt(-exponent));
}

function reduced(numerator, denominator) {
  let [one, other] = [numerator, denominator];
  while (other) {
    [one, other] = [other, one % other];
  }
  return [numerator / one, denominator / one];
}

// The largest fraction of at most this one whose denominator is small enough, from its continued fraction.
function largestUpTo(...fraction) {
  const [numerator, denominator] = reduced(...fraction);
  if (denominator <= LARGEST_DENOMINATOR) {
    return [numerator, denominator];
  }
  let [earlier, convergent] = [[0n, 1n], [1n, 0n]];
  let [dividend, divisor] = [numerator, denominator];
  for (;;) {
    const quotient = dividend / divisor;
    const next = [0, 1].map((part) => earlier[part] + quotient * convergent[part]);
    if (next[1] > LARGEST_DENOMINATOR) {
      break;
    }
    [earlier, convergent] = [convergent, next];
    [dividend, divisor] = [divisor, dividend % divisor];
  }
  const times = (LARGEST_DENOMINATOR - earlier[1]) / convergent[1];
  const other = [0, 1].map((part) => earlier[part] + times * convergent[part]);
  return other[0] * convergent[1] < convergent[0] * other[1] ? other : convergent;
}

// ---- how many jumps

// A Poisson number of mean -2 log(1 - exp(-rate)) / noiseUsers: how many values of its distribution function are below a
// uniform number, of which more words are drawn as long as some value lies too near.
function numberOfJumps(rate, noiseUsers, words) {
  let low = words(1)[0];
  for (let known = WORD_BITS; ; known += WORD_BITS) {
    const found = reachedBy(low, known, rate, noiseUsers);
    if (found !== null) {
      return found;
    }
    low = (low << WORD_BITS) | words(1)[0];
  }
}

// The number of values below a uniform number of which `known` binary places are known; null if they do not tell.
function reachedBy(low, known, [numerator, denominator], noiseUsers) {
  const places = 2n * known + 4n * GUARD;
  const scale = 1n << places;
  const [least, most] = [low << (places - known), (low + 1n) << (places - known)];
  const lost = 1n << (known + 2n * GUARD);  // far above any error of what follows, and far below the last known place
  const ratio = exponential((numerator << places) / denominator, places);
  const mean = (2n * -logarithm(scale - ratio, places)) / noiseUsers;
  let term = exponential(mean, places);
  for (let [reached, jumps] = [term, 1n]; ; jumps += 1n) {
    if (reached - lost >= most) {
      return Number(jumps) - 1;
    }
    if (reached + lost > least) {
      return null;
    }
    term = (term * mean) / (scale * jumps);
    reached += term;
  }
}

// exp(-x) of a fixed-point number x of 0 or more: the series of x / 2^k, squared k times.
function exponential(x, places) {
  const scale = 1n << places;
  const halvings = BigInt(Math.max(0, (x >> places).toString(2).length + 8));
  let [total, term] = [0n, scale];
  for (let count = 1n; term !== 0n; count += 1n) {
    total += term;
    term = (-term * x) / ((scale << halvings) * count);
  }
  for (let left = halvings; left > 0n; left -= 1n) {
    total = (total * total) >> places;
  }
  return total;
}

// log(x) of a fixed-point number above 0: k log(2) + 2 artanh(z), where x is 2^k (1 + z) / (1 - z).
function logarithm(x, places) {
  const scale = 1n << places;
  const halved = BigInt(x.toString(2).length) - places;
  const part = halved > 0n ? x >> halved : x << -halved;  // from 1/2 to 1
  return 2n * artanh(part - scale, part + scale, places) + halved * 2n * artanh(1n, 3n, places);
}

// artanh(numerator / denominator) by its series.
function artanh(numerator, denominator, places) {
  let [power, total] = [(numerator << places) / denominator, 0n];
  for (let odd = 1n; power !== 0n; odd += 2n) {
    total += power / odd;
    power = (power * numerator * numerator) / (denominator * denominator);
  }
  return total;
}

// ---- how large they are

// Sizes k of 1 or more, with probability in proportion to exp(-rate k) / k: all blocks from 2^j to below 2^(j + 1) are
// proposed alike, and a size in one is kept with probability (2^j / k) exp(-rate (k - 1)).
function sizesOfJumps(rate, count, words) {
  const numBlocks = BigInt(bitLength((REACH * rate[1] + rate[0] - 1n) / rate[0]));
  const sizes = [];
  while (sizes.length < count) {
    const left = count - sizes.length;
    const blocks = uniforms(numBlocks, 4 * left + 16, words);
    const proposed = bitsOf(blocks, words).map((rest, place) => (1n << blocks[place]) + rest);
    const inBlock = blockCoins(blocks, proposed, words);
    const chosen = proposed.filter((_, place) => inBlock[place]);
    const hasStayed = decayCoins(chosen.map((size) => size - 1n), rate, words);
    sizes.push(...chosen.filter((_, place) => hasStayed[place]).slice(0, left));
  }
  return sizes;
}

function bitLength(number) {
  return number === 0n ? 1 : number.toString(2).length;
}

// Random integers with these numbers of bits.
function bitsOf(widths, words) {
  const drawn = [...words(widths.length)];
  return widths.map((width, place) => drawn[place] & ((1n << width) - 1n));
}

// Coins of probability 2^block / size: integers below 2^(block + 1) are drawn until one is below the size.
function blockCoins(blocks, sizes, words) {
  const heads = new Array(blocks.length);
  let pending = blocks.map((_, place) => place);
  while (pending.length) {
    const drawn = bitsOf(pending.map((place) => blocks[place] + 1n), words);
    pending.forEach((place, index) => {
      heads[place] = drawn[index] < 1n << blocks[place];
    });
    pending = pending.filter((place, index) => drawn[index] >= sizes[place]);
  }
  return heads;
}

// Coins of probability exp(-rate steps): one of probability exp(-1) for each whole unit, and one for the rest.
function decayCoins(steps, [numerator, denominator], words) {
  const reached = successes(steps.length, words);
  const rests = exponentialCoins(steps.map((each) => (each * numerator) % denominator), denominator, words);
  return steps.map((each, place) => reached[place] >= (each * numerator) / denominator && rests[place]);
}

// The number of heads before the first tail, of coins with heads of probability exp(-1).
function successes(count, words) {
  const found = new Array(count).fill(0n);
  let tossing = found.map((_, place) => place);
  while (tossing.length) {
    const heads = unitCoins(tossing.length, words);
    tossing = tossing.filter((_, index) => heads[index]);
    tossing.forEach((place) => {
      found[place] += 1n;
    });
  }
  return found;
}

const digits = [];  // of exp(-1) in base 2^64, as far as they were needed

function digitOfInverseE(place) {
  const places = (place + 1n) * WORD_BITS + GUARD;
  return (exponential(1n << places, places) >> GUARD) & ((1n << WORD_BITS) - 1n);
}

// Coins of probability exp(-1): uniform numbers are compared with it word by word.
function unitCoins(count, words) {
  const heads = new Array(count);
  let undecided = Array.from({ length: count }, (_, place) => place);
  for (let place = 0; undecided.length; place += 1) {
    const drawn = [...words(undecided.length)];
    const digit = digits[place] ??= digitOfInverseE(BigInt(place));
    undecided.forEach((coin, index) => {
      heads[coin] = drawn[index] < digit;
    });
    undecided = undecided.filter((_, index) => drawn[index] === digit);
  }
  return heads;
}

// Coins of probability exp(-numerator / denominator): of coins of probability g, g/2, g/3, ... for that fraction g the
// first that fails has an odd place.
function exponentialCoins(numerators, denominator, words) {
  const heads = new Array(numerators.length);
  let tossing = heads.length ? Array.from(numerators, (_, place) => place) : [];
  for (let place = 1n; tossing.length; place += 1n) {
    const drawn = uniforms(place * denominator, tossing.length, words);
    const hasSucceeded = tossing.map((coin, index) => drawn[index] < numerators[coin]);
    tossing.filter((_, index) => !hasSucceeded[index]).forEach((coin) => {
      heads[coin] = place % 2n === 1n;
    });
    tossing = tossing.filter((_, index) => hasSucceeded[index]);
  }
  return heads;
}
