"""Both sides of the claims on sources and features in numpy, as claims_numpy.py has the others: a is the matrix of a
case, r the numbers behind it."""
import itertools
import math

import numpy as np


def compared(source, target):
    """Largest entry of the target, and that plus the largest deviation."""
    source, target = np.ravel(source), np.ravel(target)
    top = target[np.argmax(np.abs(target))]
    deviation = source - target
    return top + deviation[np.argmax(np.abs(deviation))], top


def composed(second, first):
    """[c2, c0, taps, c1] of W2 [c2, c1, k2] and W1 [c1, c0, k1]."""
    taps = second.shape[2] + first.shape[2] - 1
    out = np.zeros((len(second), first.shape[1], taps, len(first)))
    for p in range(second.shape[2]):
        for q in range(first.shape[2]):
            out[:, :, p + q] += np.einsum("im,mj->ijm", second[:, :, p], first[:, :, q])
    return out


def split(numbers, *shapes):
    found, at = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        found.append(numbers[at:at + size].reshape(shape))
        at += size
    return found


def pair(a, r, skip):
    k1, k2, c1 = (int(x) for x in r[-3:])
    c2, width = a.shape
    c0 = width // (k1 + k2 - 1)
    shapes = ([a.shape] if skip else []) + [(c2, c1, k2), (c1, c0, k1)]
    parts = split(r, *shapes)
    return composed(*parts[-2:]).reshape(c2, width, c1), parts[0] if skip else np.zeros_like(a)


def reduced(a, r, skip, printed, closed):
    product, ws = pair(a, r, skip)
    pivots = [int(np.argmax(np.abs(row))) for row in a]
    rows, right = [], []
    for i, pivot in enumerate(pivots):
        for at in range(a.shape[1]):
            if at != pivot:
                ratio = a[i, at] / a[i, pivot]
                rows.append(product[i, at] - ratio * product[i, pivot])
                right.append(ratio * ws[i, at] if printed else ratio * ws[i, pivot] - ws[i, at])
    if closed:
        rows.append(np.full(product.shape[2], np.max(np.abs(product))))
        right.append(np.max(np.abs(product)))
    sums = product @ np.linalg.solve(np.array(rows), np.array(right)) + ws
    factors = np.array([a[i, pivot] / sums[i, pivot] for i, pivot in enumerate(pivots)])
    return compared(factors[:, None] * sums, a)


def wide(product, a):
    """All gammas of the middle layer for gamma_2 = 1, 1.5, 2, ..."""
    factors = 1 + 0.5 * np.arange(len(a))[:, None]
    product = product.reshape(a.size, -1)
    gamma = np.linalg.solve(product, np.ravel(a / factors))
    return compared(factors * (product @ gamma).reshape(a.shape), a)


def thin_cut(a, r):
    taps, kernel = a.shape[1], r
    shifts = np.array([np.concatenate([np.zeros(s), kernel, np.zeros(taps - len(kernel) - s)])
                       for s in range(taps - len(kernel) + 1)])
    rest = a[0] - shifts.T @ np.linalg.lstsq(shifts.T, a[0], rcond=None)[0]
    return np.linalg.norm(rest) / np.linalg.norm(a[0]), 0


def dense(a, r):
    c2, c0 = a.shape
    third, second, first = split(r, (c2, c2 * c0), (c2 * c0, c0), (c0, c0))
    return wide(composed(third[:, :, None], (second @ first)[:, :, None]), a)


def solved(second, first, target):
    product = composed(second[:, :, None], first[:, :, None]).reshape(target.size, -1)
    return np.linalg.solve(product, np.ravel(target))


def opened(second, first, gamma, size, x):
    bias = np.abs(gamma) * np.linalg.norm(first, axis=1) * size
    return second @ np.maximum(gamma * (first @ x) + bias, 0) - second @ bias


def opened_pair(a, r):
    c2, c0 = a.shape
    second, first, x = split(r, (c2, c2 * c0), (c2 * c0, c0), (c0,))
    x = x / max(1, np.linalg.norm(x))
    return compared(opened(second, first, solved(second, first, a), 1, x), a @ x)


def low_rank(b, r):
    (rank, c0), c2 = b.shape, int(r[-1])
    a, inner2, inner1, outer2, outer1, x = split(r, (c2, rank), (rank, rank * c0), (rank * c0, c0), (c2, c2 * rank),
                                                 (c2 * rank, rank), (c0,))
    x = x / max(1, np.linalg.norm(x))
    bias = np.linalg.norm(b, axis=1)
    middle = np.maximum(opened(inner2, inner1, solved(inner2, inner1, b), 1, x) + bias, 0) - bias
    y = opened(outer2, outer1, solved(outer2, outer1, a), np.linalg.norm(b), middle)
    return compared(y, a @ b @ x)


def blocks(a, r):
    d, k = len(a), int(r[-1])
    width = d * k
    shapes = [(d, width)] + [shape for _ in range(d // k) for shape in ((width, width), (width, k))]
    left, *layers = split(r, *shapes)
    source = np.zeros_like(a)
    for block in reversed(range(d // k)):
        w, inputs = layers[2 * block], layers[2 * block + 1]
        part = slice(block * k, (block + 1) * k)
        left = left * solved(left, w @ inputs, a[:, part]) @ w
        source[:, part] = left @ inputs
    return compared(source, a)


def excess_of_tanh(y):
    y = np.longdouble(y)
    return float(y - np.tanh(y))


def scales(x, kind, cubic):
    q1, q2, eps = np.exp(x)
    gamma = min(math.sqrt((12 if kind else 3) * eps / (q2 * q1 ** cubic)), 1 / q1)
    error = 0.5 * excess_of_tanh(gamma * q1 / 2) if kind else excess_of_tanh(gamma * q1)
    return q2 * error / (gamma * (0.25 if kind else 1)), eps


def taps(a, first, total):
    q1 = np.max(np.abs(first))
    gamma = 0.5 / q1
    errors = np.array([math.copysign(excess_of_tanh(gamma * abs(x)) / gamma, x) for x in first])
    return np.sum(np.abs(errors @ a)), total(np.sum(np.abs(a), axis=0)) * excess_of_tanh(0.5) / gamma


def dead_features(d):
    return -math.expm1(math.log(-math.expm1(math.log1p(-1 / d) / (2 * d * d))) / d), math.sqrt(math.log(d) / d)


def matching(support):
    partner = {}

    def augment(column, seen):
        for row in np.flatnonzero(support[:, column]):
            if row not in seen:
                seen.add(row)
                if row not in partner or augment(partner[row], seen):
                    partner[row] = column
                    return True
        return False
    return sum(augment(column, set()) for column in range(support.shape[1]))


def support_rank(a, r):
    k2, k1, c0 = (int(x) for x in r[-3:])
    numbers = np.concatenate([np.ravel(a), r[:-3]])
    values, masks = np.split(numbers, 2)
    c2, c1 = len(a), a.shape[1] // k2
    shapes = ((c2, c1, k2), (c1, c0, k1))
    product = composed(*split(values * masks, *shapes)).reshape(-1, c1)
    s = np.linalg.svd(product, compute_uv=False)
    return np.sum(s > 1e-13 * s[0]), matching(composed(*split(masks, *shapes)).reshape(-1, c1))


def nothing_left(p, sets):
    """P(no pair of u_l = 1 and v_j = 1 with j in set l), over all u and v."""
    d = len(sets)
    total = 0
    for u in itertools.product((0, 1), repeat=d):
        united = set().union(*[sets[l] for l in range(d) if u[l]])
        total += p ** sum(u) * (1 - p) ** (d - sum(u) + len(united))
    return total


def places(p, r):
    d = int(r[0])
    bits = r[1:].reshape(d, d) > 0
    return nothing_left(p, [set(np.flatnonzero(row)) for row in bits]), (1 - p * p / (2 * d)) ** np.sum(bits)


def places_step(p, r):
    d = int(r[0])
    lengths = np.sum(r[1:].reshape(d, d) > 0, axis=1)
    h = next(h for h in range(1, d + 1) if np.sum(lengths >= h) <= h)
    return nothing_left(p, [set(range(n)) for n in lengths]), (1 - p) ** h * (2 - (1 - p) ** h)


def match_probability(p, r):
    c2, c0 = int(r[0]), int(r[1])
    target = r[2:].reshape(c2, c0) > 0
    found = 0
    for mask in itertools.product((False, True), repeat=c2 * c0):
        features = np.array(mask).reshape(c2, c0)
        if any(np.all(features[list(order)][target]) for order in itertools.permutations(range(c2))):
            found += p ** sum(mask) * (1 - p) ** (c2 * c0 - sum(mask))
    return found, math.prod(1 - (1 - p ** int(d)) ** c2 for d in np.sum(target, axis=1))


def candidates(x, c0):
    q, p, delta = x
    k = math.ceil(math.log(delta) / math.log1p(-(1 - q * (1 - p)) ** c0) - 1e-9)
    share = [math.comb(int(c0), d) * q ** d * (1 - q) ** (c0 - d) for d in range(int(c0) + 1)]
    return 1 - delta, share[0] - sum(s * math.expm1(k * math.log1p(-p ** d)) for d, s in enumerate(share) if d > 0)


def rank_of_features(second, r):
    c0, c1 = int(r[-1]), second.shape[1]
    product = composed(second[:, :, None], r[:-1].reshape(c1, c0)[:, :, None]).reshape(-1, c1)
    return len(product), np.linalg.matrix_rank(product, 1e-12 * np.linalg.norm(product, 2))


def mass(ratio, by):
    """Of the density by Gauss-Legendre in the angle, sqrt(ratio) = radius of the support."""
    t, weights = np.polynomial.legendre.leggauss(600)
    t = np.pi * (t + 1) / 2
    return np.sum(weights * np.sin(t) ** 2 / (1 + ratio + 2 * np.sqrt(ratio) * np.cos(t))) * ratio / by


def columns(a, r):
    c1 = len(a)
    n = math.isqrt(c1)

    def orthogonal(x):
        q, upper = np.linalg.qr(x.T)
        return (q * np.sign(np.diag(upper))).T[:n]
    product = np.einsum("im,jm->ijm", orthogonal(a), orthogonal(r.reshape(c1, c1))).reshape(-1, c1)
    product /= np.linalg.norm(product, axis=0)
    return np.max(np.abs(product.T @ product - np.eye(c1))), 0


def descent(a, r):
    """Five steps on the weights alone: the left side is the same in exact arithmetic."""
    c2, c0 = a.shape
    data = r.reshape(c0, c0 + c2)
    w = a.copy()
    for _ in range(5):
        w -= 0.5 / (1 + np.sum(data ** 2)) * sum(np.outer(w @ s[:c0] - s[c0:], s[:c0]) for s in data)
    return compared(w, w)


def permuted(second, r, others):
    c2, c1 = second.shape
    c0 = int(r[-1])
    first, target = split(r, (c1, c0), (c2, c0))
    product = composed(second[:, :, None], first[:, :, None]).reshape(-1, c1)
    u, n = np.linalg.svd(product)[0], len(product)
    orders = [np.ravel(target[list(order)]) for order in itertools.permutations(range(c2))]
    left = min(np.sum((v - product @ np.linalg.lstsq(product, v, rcond=None)[0]) ** 2) for v in orders)
    return left, min(np.sum((u[:, c1 if others else n - c1:].T @ v) ** 2) for v in orders)


SIDES = {
    "cnn24-2.2": lambda a, r: reduced(a, r, False, False, True),
    "cnn24-2.3": lambda a, r: wide(pair(a, r, False)[0], a),
    "cnn24-eq3": lambda a, r: reduced(a, r, True, True, False),
    "cnn24-eq3-corrected": lambda a, r: reduced(a, r, True, False, False),
    "cnn24-2.5": thin_cut,
    "cnn24-2.5-dense": dense,
    "exp23-1": opened_pair,
    "exp23-cor1": low_rank,
    "exp23-2": blocks,
    "cnn24-2.4": lambda a, r: taps(a, r, np.max),
    "cnn24-2.4-taps": lambda a, r: taps(a, r, np.sum),
    "cnn24-2.4-scales": lambda a, r: scales(a[0], r[0], 0),
    "cnn24-2.4-scales-corrected": lambda a, r: scales(a[0], r[0], 3),
    "exp23-3": lambda a, r: dead_features(a[0, 0]),
    "exp23-9": support_rank,
    "exp23-10": lambda a, r: places(a[0, 0], r),
    "exp23-10-step": lambda a, r: places_step(a[0, 0], r),
    "rf-4.2": lambda a, r: match_probability(a[0, 0], r),
    "rf-4.2-equality": lambda a, r: match_probability(a[0, 0], r),
    "rf-4.3": lambda a, r: candidates(a[0], r[0]),
    "rf-2.1": rank_of_features,
    "rf-2.2": lambda a, r: (mass(max(a[0, 0], 1 / a[0, 0]), max(a[0, 0], 1 / a[0, 0])), 1),
    "rf-2.2-corrected": lambda a, r: (mass(a[0, 0], min(1, a[0, 0])), 1),
    "rf-2.2-orthogonal": columns,
    "rf-3.1": descent,
    "rf-4.1": lambda a, r: permuted(a, r, False),
    "rf-4.1-corrected": lambda a, r: permuted(a, r, True),
}
