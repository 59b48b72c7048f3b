import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from shuffledp.randomness.keystream import KeyErasingCipher, split_key
from shuffledp.randomness.sources import SecureSource

KEY = bytes(range(32))


def counter_mode(key: bytes, num_bytes: int) -> bytes:
    """AES-256-CTR from counter 0, made by encrypting the counters one by one, which the library never does."""
    counters = b"".join(index.to_bytes(16, "big") for index in range(num_bytes // 16))
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters)  # noqa: S305


def test_words_are_the_keystream_of_the_split_key_and_each_block_begins_with_the_key_of_the_next():
    # Guarantee 1 of SecureSource.
    key, _ = split_key(KEY)
    expected = []
    for num_bytes in (2**12, 2**14, 2**16):
        block = counter_mode(key, num_bytes)
        key, words = block[:32], block[32:]
        expected += np.frombuffer(words, dtype="<u8").tolist()
    assert SecureSource(KEY).words(len(expected)).tolist() == expected


def test_the_key_of_a_block_is_overwritten_by_its_successor_which_is_never_a_word():
    # Guarantee 3 of SecureSource, keys.
    cipher = KeyErasingCipher(KEY)
    place = cipher._key
    block = np.empty(cipher.block_words, dtype=np.uint64)
    cipher.write_block(block)
    assert cipher._key is place
    assert bytes(place) == counter_mode(KEY, 32)
    assert bytes(place) not in block.tobytes()
