"""Norma's counter-based normal numbers in numpy: Philox4x32-10 and Box-Muller pairs, as src/base/rng.h describes them."""
import numpy as np

MASK = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def philox(key, counter):
    """Four arrays of 32-bit words each for a 64-bit key and four arrays of counter words, lowest first."""
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    c = [np.asarray(word, dtype=np.uint64) for word in counter]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> SHIFT) ^ c[1] ^ k[0], b & MASK, (a >> SHIFT) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + np.uint64(0x9E3779B9)) & MASK, (k[1] + np.uint64(0xBB67AE85)) & MASK]
    return c


def normals(seed, n, purpose, tensor=0, layer=0, replica=0, cell=0):
    """Elements 0 .. n - 1 of a stream."""
    blocks = [block | layer << 40 | replica << 64 | cell << 88 | tensor << 108 | purpose << 116
              for block in range((n + 1) // 2)]
    words = philox(seed, [[block >> 32 * w & 0xFFFFFFFF for block in blocks] for w in range(4)])
    u, v = ((words[2 * i] | words[2 * i + 1] << SHIFT) >> np.uint64(11) for i in range(2))
    u, v = (np.where(x == 0, 0.5, x.astype(float)) * 2.0**-53 for x in (u, v))
    radius = np.sqrt(-2 * np.log(u))
    return np.stack([radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v)], 1).reshape(-1)[:n]
