"""Both sides of the papers' deterministic claims in numpy, from the numbers of a case: sides(name, case, rows,
columns) -> (left, right), None where this file does not have the claim."""
import numpy as np

import claims_depth_numpy
import claims_sources_numpy


def isometry(a):
    s = np.linalg.svd(a, compute_uv=False)[:len(a)]
    return np.exp(2 * np.mean(np.log(s / s[0]))) / np.mean((s / s[0]) ** 2)


def rows_to(a, norm=1.0):
    return norm * a / np.linalg.norm(a, axis=1, keepdims=True)


def spread(a):
    norms = np.linalg.norm(a, axis=1)
    return 1 + np.var(norms) / np.mean(norms) ** 2


def orthogonal(a):
    q, r = np.linalg.qr(a.T)
    return (q * np.sign(np.diag(r))).T


def spectrum(x):
    top = x.max()
    logs = x - top + np.log(len(x)) - np.log(np.sum(np.exp(x - top)))
    return logs, max(0.0, -np.sum(logs))


def near_one(x):
    logs, psi = spectrum(x)
    return np.max(np.abs(np.expm1(logs))), 16 * psi


def jacobian(a):
    return max(np.linalg.norm((np.eye(len(x)) - np.outer(x, x) / (x @ x)) / np.linalg.norm(x), 2) for x in a)


def stable_rank(a):
    s = np.linalg.svd(a, compute_uv=False)
    return np.sum(s ** 2) ** 2 / np.sum(s ** 4)


def soft_rank(a, tau):
    return np.sum(np.linalg.svd(a, compute_uv=False) ** 2 >= tau * (1 - 1e-12))


def step(a, rest):
    d = len(a)
    h = rows_to(a)
    return h, rows_to(h + rest[d * d] * rest[:d * d].reshape(d, d) @ h)


def circulant(a):
    h = rows_to(np.array([np.roll(a[0], i) for i in range(a.shape[1])]))
    return h @ h.T


def change(m):
    return 2 * len(m) ** 2 - 2 * np.sum(m * m) - 8 * np.trace(m @ m @ m) + 8 * np.sum(np.diag(m @ m) ** 2)


def change_by_spectrum(m):
    l, d = np.linalg.eigvalsh(m), len(m)
    return 2 * d * d - 2 * np.sum(l ** 2) - 8 * np.sum(l ** 3) + 8 * np.sum(l ** 2) ** 2 / d


def example_nine(e, d):
    l = np.array([d - e * (d - 1)] + [e] * (int(d) - 1))
    return e * d * d, -(2 * d * d - 2 * np.sum(l ** 2) - 8 * np.sum(l ** 3) + 8 * np.sum(l ** 2) ** 2 / d)


def gain(a):
    return isometry(a) * spread(a), isometry(rows_to(a))


def least(a):
    return np.linalg.svd(a, compute_uv=False)[-1] ** 2


def rank_one(a, rest):
    h, after = step(a, rest)
    return np.sum((h @ h.T) * (after @ after.T)) / len(a) ** 2, 1


def soft_falls(a, rest):
    h, after = step(a, rest)
    return soft_rank(after, rest[-1]), soft_rank(h, rest[-1])


def powers(x):
    l = np.abs(x) * len(x) / np.sum(np.abs(x))
    return np.sum(l ** 2), np.sqrt(len(l) * np.sum(l ** 3))


def cosine(a, rest):
    g = [-1 / (1 + np.exp(rest[2 + i])) * rest[i] * a[0] for i in range(2)]
    return abs(g[0] @ g[1]) / np.linalg.norm(g[0]) / np.linalg.norm(g[1]), 1


def centred(c, rho, printed):
    k, p = np.arange(1, len(c)), c[1:] ** 2 / np.sum(c[1:] ** 2)
    after, start = abs(np.sum(p * rho ** k)), abs(rho)
    return after / (1 - after), start / (1 - start) * (1 / np.sum(k * p) if printed else 1 / (2 - p[0]))


def fast(c, rho):
    k, p = np.arange(len(c)), c ** 2 / np.sum(c ** 2)
    bound = (1 - rho) * np.sum(k * p) ** 3
    for _ in range(3):
        rho = np.sum(p * rho ** k)
    return 1 - rho, bound


def values(x):
    return x ** 2 / np.sum(x ** 2), len(x)


def gap_by_least(x):
    s, n = values(x)
    return np.linalg.norm(s - 1 / n), 2 * n * (1 / n - s.min())


def wasserstein(x):
    s, n = values(x)
    return np.sum((np.sqrt(s) - 1 / np.sqrt(n)) ** 2), 2 * n * np.linalg.norm(s - 1 / n)


# a: the matrix of a case, r: the numbers behind it
SIDES = {
    "thesis-4.2-range": lambda a, r: (isometry(a), 1),
    "thesis-4.2-identity": lambda a, r: (np.linalg.norm(a @ a.T - np.eye(len(a))), 0),
    "thesis-4.3-equality": lambda a, r: gain(a),
    "thesis-4.3-bound": lambda a, r: gain(a),
    "thesis-4.4-ln": lambda a, r: (gain(a)[0], isometry(rows_to(a - a.mean(axis=1, keepdims=True)))),
    "thesis-4.4-rms": lambda a, r: gain(a),
    "thesis-4.5": lambda a, r: gain(a),
    "thesis-6.2": lambda a, r: (isometry(a) * spread(orthogonal(r.reshape(a.shape)) @ a),
                                isometry(rows_to(orthogonal(r.reshape(a.shape)) @ a))),
    "thesis-c.3": lambda a, r: (isometry(rows_to(np.linalg.svd(a)[0].T @ a)), 1),
    "thesis-6.3-interval": lambda a, r: (np.linalg.norm(rows_to(a), 2) ** 2, 1),
    "thesis-c.8": lambda a, r: near_one(a[0]),
    "thesis-c.8-half": lambda a, r: near_one(a[0]),
    "thesis-c.13": lambda a, r: (np.log(jacobian(a)) + np.log(np.linalg.norm(a)) - 0.5 * np.log(len(a)),
                                 -len(a) * np.log(isometry(a)) + 1),
    "thesis-c.16": lambda a, r: (jacobian(a) ** 2, 1 / least(a)),
    "thesis-c.17-all": lambda a, r: (-spectrum(a[0])[0].min(), spectrum(a[0])[1] + 1),
    "thesis-c.17-near": lambda a, r: (-spectrum(a[0])[0].min(), 2 * np.sqrt(spectrum(a[0])[1])),
    "thesis-c.20": lambda a, r: (least(a), np.min(np.sum(a * a, axis=1))),
    "thesis-5.8": lambda a, r: centred(a[0], r[0], False),
    "thesis-5.11.1": lambda a, r: centred(a[0], r[0], True),
    "thesis-5.11.2": lambda a, r: fast(a[0], r[0]),
    "thesis-5.15": lambda a, r: centred(a[0], r[0], True),
    "thesis-5.15-corrected": lambda a, r: centred(a[0], r[0], False),
    "thesis-a.1": lambda a, r: gap_by_least(a[0]),
    "thesis-2.2": lambda a, r: wasserstein(a[0]),
    "rank20-1-rank": lambda a, r: (stable_rank(a), np.linalg.matrix_rank(a, 100 * 2.0 ** -52 * np.linalg.norm(a, 2))),
    "rank20-1-soft": lambda a, r: ((1 - r[0]) ** 2 * stable_rank(rows_to(a)), soft_rank(rows_to(a), r[0])),
    "rank20-6": rank_one,
    "rank20-8": lambda a, r: (change(circulant(a)), change_by_spectrum(circulant(a))),
    "rank20-9": lambda a, r: example_nine(a[0, 0] ** 2, r[0]),
    "rank20-11": lambda a, r: (np.sum(np.diag(circulant(a) @ circulant(a)) ** 2),
                               np.trace(np.linalg.matrix_power(circulant(a), 3))),
    "rank20-56": lambda a, r: powers(a[0]),
    "rank20-15-soft": soft_falls,
    "rank20-19": cosine,
    **claims_sources_numpy.SIDES,
    **claims_depth_numpy.SIDES,
}


def mean(name, case, rows, columns):
    """(Left side, its standard error) of a claim on means, None where there is none."""
    if name not in claims_depth_numpy.MEANS:
        return None
    return claims_depth_numpy.MEANS[name](case[:rows * columns].reshape(rows, columns), case[rows * columns:])


def sides(name, case, rows, columns):
    if name not in SIDES:
        return None
    return SIDES[name](case[:rows * columns].reshape(rows, columns), case[rows * columns:])
