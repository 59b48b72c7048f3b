// Sealing, such as of reports that the analyzer alone can read: HPKE in base mode (RFC 9180), the only suite that this client has.

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "./vendor/hpke.js";
import { joined, report, reportInfo } from "./wire.js";

const SUITE = { kem: 0x0020, kdf: 0x0001, aead: 0x0001 };

export function suite() {
  return new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() });
}

// What seals to a key; `ekm` is the secret of a test vector, and of nothing else.
export async function senderTo(config, info, ekm = undefined) {
  if (config.kem !== SUITE.kem || config.kdf !== SUITE.kdf || config.aead !== SUITE.aead) {
    throw new Error("a key is for other algorithms");
  }
  const hpke = suite();
  const recipientPublicKey = await hpke.kem.deserializePublicKey(config.publicKey);
  return hpke.createSenderContext({ recipientPublicKey, info, ekm });
}

// A report sealed to a key, perhaps with public extensions; `ekm` as above.
export async function sealed(config, id, column, plaintext, { ekm, extensions } = {}) {
  const sender = await senderTo(config, reportInfo(id, column), ekm);
  const payload = await sender.seal(plaintext);
  return report(config.id, new Uint8Array(sender.enc), new Uint8Array(payload), extensions);
}

// What a person submits: one message after the other, each for the pool of messages that it is shuffled with.
export async function submission(config, id, plaintexts, pools) {
  return joined(...await Promise.all(plaintexts.map((each, message) => sealed(config, id, pools[message], each))));
}
