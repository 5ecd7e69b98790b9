"""Integers that wrap, shift and mix: checksums, hashes, generators, Gray codes."""

from __future__ import annotations

import numpy as np

from programs._program import program


def crc_table():
    table = np.zeros(256, dtype=np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ 0xEDB88320 if value & 1 else value >> 1
        table[byte] = value
    return table


CRC_TABLE = crc_table()


@program(
    arguments=lambda rng: (np.frombuffer(b"123456789", dtype=np.uint8),),
    others=[lambda rng: (np.zeros(0, np.uint8),), lambda rng: (rng.integers(0, 256, 20).astype(np.uint8),)],
)
def crc32(data):
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = (crc >> np.uint32(8)) ^ CRC_TABLE[(crc ^ byte) & np.uint32(0xFF)]
    return crc ^ np.uint32(0xFFFFFFFF)


@program(
    arguments=lambda rng: (0x1021, rng.integers(0, 256, 12).astype(np.uint8)),
    others=[lambda rng: (0x8005, np.zeros(0, np.uint8)), lambda rng: (0x1021, np.arange(5))],
)
def crc16_bitwise(poly, data):
    """No table: eight turns for each byte, in Python's own integers."""
    register = 0xFFFF
    for byte in data:
        register ^= int(byte) << 8
        for _ in range(8):
            if register & 0x8000:
                register = (register << 1) ^ poly
            else:
                register <<= 1
            register &= 0xFFFF
    return register


@program(
    arguments=lambda rng: (np.array([1, 2, 3, 4], np.uint32), 6),
    others=[lambda rng: (np.array([2463534242], np.uint32), 1), lambda rng: (np.zeros(3, np.uint32), 2)],
    features=["integer wrap-around", "trip count is an argument"],
)
def xorshift(state, n):
    """A column of numbers from each state; shifts drop what leaves 32 bits."""
    out = np.empty((n, state.size), dtype=np.uint32)
    for i in range(n):
        state ^= state << np.uint32(13)
        state ^= state >> np.uint32(17)
        state ^= state << np.uint32(5)
        out[i] = state
    return out


@program(
    arguments=lambda rng: (np.frombuffer(b"weaving threads", np.uint8),),
    others=[lambda rng: (np.zeros(0, np.uint8),), lambda rng: (rng.integers(0, 256, 9).astype(np.uint8),)],
    features=["integer wrap-around"],
)
def fnv1a(data):
    """Products beyond 32 bits are cut; NumPy is told not to warn of it."""
    h = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for byte in data:
            h = (h ^ np.uint32(byte)) * np.uint32(16777619)
    return h


@program(
    arguments=lambda rng: (rng.integers(0, 2**32, 8, dtype=np.uint32), np.uint32(0x9E3779B9)),
    others=[
        lambda rng: (np.zeros(0, np.uint32), np.uint32(1)),
        lambda rng: (np.arange(3, dtype=np.uint32), np.uint32(0)),
    ],
    features=["integer wrap-around"],
    trace=True,
)
def murmur_mix(keys, seed):
    """The finishing rounds of a hash over a whole array."""
    h = keys ^ seed
    h ^= h >> 16
    h = h * np.uint32(0x85EBCA6B)
    h ^= h >> 13
    h = h * np.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


@program(
    arguments=lambda rng: (np.uint64(42), 5),
    others=[lambda rng: (np.uint64(2**64 - 1), 2), lambda rng: (np.uint64(0), 0)],
    features=["integer wrap-around", "trip count is an argument"],
)
def splitmix64(state, n):
    out = np.zeros(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for i in range(n):
            state += np.uint64(0x9E3779B97F4A7C15)
            z = state
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            out[i] = z ^ (z >> np.uint64(31))
    return out / 2.0**64


@program(
    arguments=lambda rng: (rng.integers(0, 2**16, 10),),
    others=[lambda rng: (np.array([0, 1, 2**62]),), lambda rng: (rng.integers(0, 255, 6).astype(np.uint8),)],
)
def popcounts(x):
    """Kernighan's trick, everyone until all are zero."""
    x = x.copy()
    counts = np.zeros(x.shape, dtype=np.int8)
    while np.any(x):
        busy = x != 0
        x[busy] &= x[busy] - 1
        counts += busy
    return counts


@program(
    arguments=lambda rng: (np.arange(16),),
    others=[lambda rng: (np.array([255], np.uint8),), lambda rng: (np.zeros(0, np.int64),)],
    trace=True,
)
def gray_codes(n):
    """There and back again."""
    gray = n ^ (n >> 1)
    back = gray.copy()
    for shift in (1, 2, 4):
        back ^= back >> shift
    return gray, back


@program(
    arguments=lambda rng: (rng.integers(0, 256, (3, 4)).astype(np.uint8),),
    others=[lambda rng: (np.zeros((1, 1), np.uint8),), lambda rng: (rng.integers(0, 256, (2, 2)).astype(np.uint8),)],
    trace=True,
)
def bit_planes(image):
    """The eight planes of a picture of bytes and the picture from them."""
    planes = (image[..., None] >> np.arange(8, dtype=np.uint8)) & 1
    again = np.bitwise_or.reduce(planes << np.arange(8, dtype=np.uint8), axis=-1)
    return planes, again, np.bitwise_xor.reduce(image, axis=0)


@program(
    arguments=lambda rng: (3, 200, 13),
    others=[lambda rng: (2, 0, 7), lambda rng: (5, 117, 1), lambda rng: (10, 1, 4)],
)
def power_modulo(base, exponent, modulus):
    result = 1 % modulus
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


@program(
    arguments=lambda rng: (rng.integers(0, 256, 17).astype(np.uint8),),
    others=[lambda rng: (np.zeros(0, np.uint8),), lambda rng: (np.full(9, 255, np.uint8),)],
    features=["integer wrap-around"],
)
def checksums(data):
    """A sum that wraps in a byte, and Adler's two running sums."""
    wrapped = np.add.reduce(data, dtype=np.uint8)
    a, b = 1, 0
    for byte in data:
        a = (a + int(byte)) % 65521
        b = (b + a) % 65521
    return wrapped, (b << 16) | a
