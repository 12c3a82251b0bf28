#ifndef NORMA_BASE_RNG_PHILOX_H
#define NORMA_BASE_RNG_PHILOX_H
/*
 * Philox4x32-10 on vectors, for the files of src/base/rng_loops.h; they define before rng_times_low
 * (product of the low 32 bits), rng_xor3 and rng_join (low halves of two vectors to one word).
 * Bits above the low 32 of a counter word are left dirty: the products do not see them.
 */
static inline void rng_philox(const uint32_t key[2], rng_words c[4][RNG_GROUP],
                              rng_words word0[RNG_GROUP], rng_words word1[RNG_GROUP])
{
    const rng_words m0 = rng_set(0xD2511F53u);
    const rng_words m1 = rng_set(0xCD9E8D57u);
    uint32_t key0 = key[0];
    uint32_t key1 = key[1];
    for (int round = 0; round < 10; round++) {
        const rng_words k0 = rng_set(key0);
        const rng_words k1 = rng_set(key1);
        for (int g = 0; g < RNG_GROUP; g++) {
            rng_words product0 = rng_times_low(c[0][g], m0);
            rng_words product1 = rng_times_low(c[2][g], m1);
            c[0][g] = rng_xor3(rng_high(product1), c[1][g], k0);
            c[1][g] = product1;
            c[2][g] = rng_xor3(rng_high(product0), c[3][g], k1);
            c[3][g] = product0;
        }
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    for (int g = 0; g < RNG_GROUP; g++) {
        word0[g] = rng_join(c[0][g], c[1][g]);
        word1[g] = rng_join(c[2][g], c[3][g]);
    }
}

#endif
