// The randomizers of sums, whose messages tell nothing one by one: split and mix, and counted bits.

import { numberOf, placed, uniforms } from "./draws.js";
import { polyaShare, rateOf } from "./polya.js";
import { joined } from "./wire.js";

// Split and mix: the place of the number plus a share of noise, as numbers modulo q that add up to it. All but the last
// are uniform, and so is the last one by itself. Each message is one of them, with its round.
export function splitAndMix(model, number, words) {
  const precision = BigInt(model.precision);
  const place = model.integer
    ? BigInt(number - model.lower) * (precision / BigInt(model.upper - model.lower))
    : placed(model, number, precision, words);
  const noise = polyaShare(rateOf(model.epsilon, precision), BigInt(model.noise_users), words);
  const [modulus, count] = [BigInt(model.modulus), Number(model.num_shares)];
  const free = uniforms(modulus, count - 1, words);
  const last = free.reduce((left, share) => left - share, place + noise) % modulus;
  const perRound = model.hosts?.buffers === "host" ? count / Number(model.hosts.number) : 1;
  return [...free, (last + modulus) % modulus].map((share, number) => joined(
    numberOf(share, modulus - 1n), numberOf(BigInt(Math.floor(number / perRound)), BigInt(count / perRound) - 1n),
  ));
}

// Counted bits: as many ones as whole steps, zeros up to the last step, and fair coins, each in a message of its own.
export function countedBits(model, number, words) {
  const [steps, coins] = [Number(model.value_bits), Number(model.coins)];
  const ones = Number(placed(model, number, BigInt(steps), words));
  const drawn = [...words(Math.ceil(coins / 64))];
  const values = Array.from({ length: steps }, (_, step) => (step < ones ? 1 : 0));
  const tossed = Array.from({ length: coins }, (_, coin) => coinIn(drawn[coin >> 6], coin & 63));
  return [...values, ...tossed].map((bit) => Uint8Array.of(bit));
}

// One of 64 coins in a word: its bytes from the least one, and the bits of a byte from the greatest one.
function coinIn(word, coin) {
  return Number((word >> BigInt((coin & ~7) + 7 - (coin & 7))) & 1n);
}
