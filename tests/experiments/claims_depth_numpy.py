"""Both sides of the claims on several layers in numpy, as claims_numpy.py has the others: a is the matrix of a case, r
the numbers behind it. MEANS has left sides of claims on means by replicas: (mean, standard error)."""
import numpy as np


def rows_to(a):
    return a / np.linalg.norm(a, axis=1, keepdims=True)


def orthogonal(a):
    q, upper = np.linalg.qr(a.T)
    return (q * np.sign(np.diag(upper))).T


def gap(x):
    s = np.linalg.svd(x, compute_uv=False)
    return np.log(np.mean(s ** 2)) - 2 * np.mean(np.log(s))


def layers(a, r, n):
    """The weights, and for each layer X before it, the norms of rows of W X, and X behind it."""
    d = len(a)
    x = rows_to(a)
    weights, steps = [orthogonal(w) for w in r[:n * d * d].reshape(n, d, d)], []
    for w in weights:
        h = w @ x
        steps.append((x, np.linalg.norm(h, axis=1), rows_to(h)))
        x = steps[-1][2]
    return weights, steps


def log_norms(a, r):
    d = len(a)
    steps = layers(a, r, 6)[1]
    right = d ** 5 * (gap(rows_to(a)) ** 3 + 1 - np.exp(-6 / (32 * d ** 4)))
    return sum(np.log(np.max(1 / norms)) for _, norms, _ in steps), right


def log_gradients(a, r):
    """The loss is <V, X>; its derivative by the weights in one direction and entry after the other."""
    d = len(a)
    weights, steps = layers(a, r, 4)
    v = r[4 * d * d:].reshape(d, d) / np.linalg.norm(r[4 * d * d:])
    found = []
    for layer in range(4):
        gradient = np.zeros((d, d))
        for i in range(d):
            for j in range(d):
                change = np.zeros((d, d))
                change[i] = steps[layer][0][j]
                for later in range(layer, 4):
                    _, norms, y = steps[later]
                    change = (change - y * np.sum(y * change, axis=1, keepdims=True)) / norms[:, None]
                    change = weights[later + 1] @ change if later + 1 < 4 else change
                gradient[i, j] = np.sum(v * change)
        found.append(np.linalg.norm(gradient))
    return np.log(max(found)), d ** 5 * (gap(rows_to(a)) ** 3 + 1)


def critical(c, rho):
    k, p = np.arange(1, len(c)), c[1:] ** 2
    p = p / np.sum(k * p)
    start = distance = 1 - rho
    for _ in range(3):
        powers = -np.expm1(k * np.log1p(-distance)) if distance < 1 else 1 - (1 - distance) ** k
        distance = np.sum(p * powers)
    return distance, start / (3 * np.sum(p[1:]) * start + 1)


def leading(beta, log_d):
    d, top = np.exp(log_d), np.exp(beta * log_d)
    rest = (d - top) / (d - 1)
    return (top ** 2 + (d - 1) * rest ** 2) ** 2 / (d * (top ** 3 + (d - 1) * rest ** 3)), 0.9


def estimate(samples):
    return np.mean(samples), np.std(samples) / np.sqrt(len(samples))


def variances(a, r):
    """d times the mean squared deviation off the diagonal of h'h / d, h = W tanh(BN(rows of N(0, G*)))."""
    diagonal, off, d = a[0, 0], a[0, 1], int(a[0, 2])
    rng = np.random.default_rng(1)
    n, pairs = 4, np.triu_indices(4, 1)
    root = np.linalg.cholesky(np.full((n, n), off) + (diagonal - off) * np.eye(n))
    h = rng.standard_normal((4000, d, n)) @ root.T
    h -= np.mean(h, axis=2, keepdims=True)
    act = np.tanh(h / np.sqrt(np.mean(h ** 2, axis=2, keepdims=True)))
    roots = np.linalg.cholesky(np.swapaxes(act, 1, 2) @ act / d)
    h = rng.standard_normal((4000, d, n)) @ np.swapaxes(roots, 1, 2)
    gram = np.swapaxes(h, 1, 2) @ h / d
    return estimate(d * np.mean((gram[:, pairs[0], pairs[1]] - off) ** 2, axis=1))


def growth(a, r):
    """Of the squared diagonal of the triangular factor of normal columns."""
    d, i = int(a[0, 0]), int(r[0])
    rng = np.random.default_rng(2)
    return estimate([2 * np.log(abs(np.linalg.qr(rng.standard_normal((d, i)))[1][-1, -1])) for _ in range(20000)])


SIDES = {
    "thesis-c.12": log_norms,
    "thesis-6.5": log_gradients,
    "thesis-5.11.3": lambda a, r: critical(a[0], r[0]),
    "rank20-12": lambda a, r: leading(a[0, 0], r[0]),
}
MEANS = {"thesis-3.3": variances, "thesis-a.13": growth, "thesis-a.13-corrected": growth}
