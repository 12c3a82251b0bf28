"""The system M gamma = w and its solution against an independent numpy construction.

Source weights come from a file, so that both sides see the same numbers. For both width rules, fully
connected and convolutional with K1 = 1, with K2 = 1, and with both larger, gamma1 and gamma2 must agree to
1e-10 times the condition number of the system; so must the condition number itself.
"""
import os

import h5py
import numpy as np

import program


def composite(w1, w2):
    """KR[(i, j, k), J] = sum over p + q = k of W2[i, J, p] W1[J, j, q], by direct summation."""
    c1, c0, h1, v1 = w1.shape
    c2, _, h2, v2 = w2.shape
    kr = np.zeros((c2, c0, h1 + h2 - 1, v1 + v2 - 1, c1))
    for a in range(h2):
        for b in range(v2):
            for c in range(h1):
                for d in range(v1):
                    kr[:, :, a + c, b + d, :] += np.einsum("iJ,Jj->ijJ", w2[:, :, a, b], w1[:, :, c, d])
    return kr


def embed(target, shape):
    """The target kernel inside the composite one, at offset floor((K - Kt) / 2), zero outside."""
    c2, c0, h, v = target.shape
    out = np.zeros((c2, c0) + shape)
    top, left = (shape[0] - h) // 2, (shape[1] - v) // 2
    out[:, :, top:top + h, left:left + v] = target
    return out


def system(w1, w2, target, rule):
    """The closed square system, its right-hand side, and a function from its solution to gammas."""
    kr = composite(w1, w2)
    c2 = kr.shape[0]
    rows = kr.reshape(-1, kr.shape[-1])
    wanted = embed(target, kr.shape[2:4]).reshape(c2, -1)
    if rule == "max":
        return rows, wanted.ravel(), lambda g: (g, np.ones(c2))
    per = wanted.shape[1]
    pivot = np.argmax(np.abs(wanted), axis=1)
    kept = []
    for i in range(c2):
        ratio = wanted[i] / wanted[i, pivot[i]]
        block = rows[i * per:(i + 1) * per]
        difference = block - ratio[:, None] * block[pivot[i]][None, :]
        kept.append(np.delete(difference, pivot[i], axis=0))
    m = np.vstack(kept)
    scale = np.sqrt(np.mean(np.sum(m * m, axis=1)) / m.shape[1])
    closed = np.vstack([m, scale * np.ones(m.shape[1])])
    right = np.zeros(closed.shape[0])
    right[-1] = scale

    def gammas(g):
        g = g / g.sum()
        at_pivot = np.array([rows[i * per + pivot[i]] @ g for i in range(c2)])
        return g, wanted[np.arange(c2), pivot] / at_pivot

    return closed, right, gammas


CASES = [  # c2, c0, Kt, K1, K2
    (6, 5, (1, 1), (1, 1), (1, 1)),
    (4, 3, (3, 3), (1, 1), (3, 3)),
    (4, 3, (3, 3), (3, 3), (1, 1)),
    (3, 4, (3, 2), (2, 2), (3, 3)),
    (2, 3, (3, 3), (3, 3), (3, 3)),
]


def main():
    rng = np.random.default_rng(20240917)
    with program.folder() as folder:
        for number, (c2, c0, kt, k1, k2) in enumerate(program.some(CASES, 4)):
            for rule in ("max", "min") if program.ALL else (("max", "min")[number % 2],):
                n = c2 * c0 * (k1[0] + k2[0] - 1) * (k1[1] + k2[1] - 1)
                c1 = n if rule == "max" else n - c2 + 1
                w1 = rng.standard_normal((c1, c0) + k1)
                w2 = rng.standard_normal((c2, c1) + k2)
                target = rng.standard_normal((c2, c0) + kt)
                source, goal, out = (os.path.join(folder, f"{name}{number}{rule}.h5")
                                     for name in ("source", "target", "out"))
                program.write_source(source, [(w1, w2)])
                with h5py.File(goal, "w") as f:
                    f["w"] = target

                matrix, right, gammas = system(w1, w2, target, rule)
                condition = np.linalg.cond(matrix)
                gamma1, gamma2 = gammas(np.linalg.solve(matrix, right))
                ranks = 1 + number % 3
                done = program.launch(["reconstruct", "--target", goal + ":/w", "--source", source,
                                       "--width-rule", rule, "--solver", "lu", "--condition",
                                       "estimate" if number % 2 else "full", "--output", out], ranks)
                label = f"case {number} {rule}"
                program.check(done.returncode == 0, f"{label}: exit {done.returncode}: {done.stderr}")
                if done.returncode != 0:
                    continue
                with h5py.File(out) as f:
                    got1 = f["layers/000/gamma1"][0]
                    got2 = f["layers/000/gamma2"][0]
                    solved = f["condition_number_solved"][0, 0]
                    method = f["condition_number"].attrs["method"]
                error1 = np.linalg.norm(got1 - gamma1) / np.linalg.norm(gamma1)
                error2 = np.linalg.norm(got2 - gamma2) / np.linalg.norm(gamma2)
                print(f"{label}: n {n} c1 {c1} condition {condition:.3e} (norma {solved:.3e}) "
                      f"gamma1 {error1:.2e} gamma2 {error2:.2e} on {ranks} ranks")
                program.check(error1 <= 1e-10 * condition and error1 < 1e-3, f"{label}: gamma1 {error1}")
                program.check(error2 <= 1e-10 * condition and error2 < 1e-3, f"{label}: gamma2 {error2}")
                wanted, off = ("estimate", 0.15) if number % 2 else ("full", 0.01)
                program.check(abs(solved / condition - 1) < off, f"{label}: condition {solved}")
                program.check(method == wanted, f"{label}: condition {method}")
    program.finish()


if __name__ == "__main__":
    main()
