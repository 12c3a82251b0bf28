"""Skip connections beside source pairs against an independent numpy construction, and networks with them run.

Source weights and skip come from a file. For inner and outer skips, both width rules, a skip of the target's
kernel and one of 1 x 1: gamma1 and gamma2 agree to 1e-10 times the condition number. A network whose every layer
has a skip computes its target, in FP64 and FP32, in the run and from the stored result.
"""
import os

import h5py
import numpy as np

import program
from check_network import evaluate, small_network
from check_numpy import composite, embed, system


def outer_min(w1, w2, target, skip):
    """gamma2_i (KR gamma1 + Ws)_i = Wt_i with the pivot of each row eliminated."""
    kr = composite(w1, w2)
    c2 = kr.shape[0]
    rows = kr.reshape(c2, -1, kr.shape[-1])
    wanted, beside = (embed(w, kr.shape[2:4]).reshape(c2, -1) for w in (target, skip))
    matrix, right = [], []
    pivot = np.argmax(np.abs(wanted), axis=1)
    for i in range(c2):
        ratio = wanted[i] / wanted[i, pivot[i]]
        matrix.append(np.delete(rows[i] - np.outer(ratio, rows[i, pivot[i]]), pivot[i], axis=0))
        right.append(np.delete(ratio * beside[i, pivot[i]] - beside[i], pivot[i]))

    def gammas(g):
        at = np.arange(c2), pivot
        return g, wanted[at] / (np.einsum("ipJ,J->ip", rows, g)[at] + beside[at])

    return np.vstack(matrix), np.concatenate(right), gammas


def middle(skip, kernel):
    """A 1 x 1 skip as the middle tap of a kernel."""
    whole = np.zeros(skip.shape[:2] + kernel)
    whole[:, :, (kernel[0] - 1) // 2, (kernel[1] - 1) // 2] = skip[:, :, 0, 0]
    return whole


def check_systems(folder):
    rng = np.random.default_rng(77)
    out, goal, source = (os.path.join(folder, name) for name in ("out.h5", "goal.h5", "source.h5"))
    for number, (residual, rule, k1, k2, kt, ks) in enumerate(program.some((
            ("inner", "max", (1, 1), (3, 3), (3, 3), (3, 3)), ("inner", "min", (3, 3), (1, 1), (3, 3), (1, 1)),
            ("outer", "max", (1, 1), (3, 2), (3, 2), (1, 1)), ("outer", "min", (1, 1), (3, 3), (3, 3), (3, 3)),
            ("outer", "min", (2, 2), (3, 3), (3, 3), (1, 1)), ("inner", "min", (2, 2), (2, 3), (2, 2), (2, 2))), 4)):
        c2, c0 = 4, 3
        n = c2 * c0 * (k1[0] + k2[0] - 1) * (k1[1] + k2[1] - 1)
        c1 = n if rule == "max" else n - c2 + (1 if residual == "inner" else 0)
        w1, w2 = rng.standard_normal((c1, c0) + k1), rng.standard_normal((c2, c1) + k2)
        target, skip = rng.standard_normal((c2, c0) + kt), rng.standard_normal((c2, c0) + ks)
        program.write_source(source, [(w1, w2)])
        with h5py.File(source, "a") as f:
            f["source/000/Ws"] = skip
        with h5py.File(goal, "w") as f:
            f["w"] = target
        whole = skip if ks == kt else middle(skip, kt)
        if residual == "outer" and rule == "min":
            matrix, right, gammas = outer_min(w1, w2, target, whole)
        else:
            matrix, right, gammas = system(w1, w2, target - whole, rule)
        condition = np.linalg.cond(matrix)
        gamma1, gamma2 = gammas(np.linalg.solve(matrix, right))
        label = f"{residual} {rule} {k1} {k2} {kt} {ks}"
        done = program.launch(["reconstruct", "--target", goal + ":/w", "--source", source, "--residual", residual,
                               "--width-rule", rule, "--solver", "lu", "--output", out, "--force"], 1 + number % program.SEVERAL)
        program.check(done.returncode == 0, f"{label}: {done.stderr}")
        if done.returncode != 0:
            continue
        with h5py.File(out) as f:
            got1, got2 = f["layers/000/gamma1"][0], f["layers/000/gamma2"][0]
            rmse, floor = f["rmse"][0, 0], f["rmse_floor"][0, 0]
            program.check(f["n_minimum"][0, 0] == c1, f"{label}: minimum {f['n_minimum'][0, 0]}, expected {c1}")
        error1 = np.linalg.norm(got1 - gamma1) / np.linalg.norm(gamma1)
        error2 = np.linalg.norm(got2 - gamma2) / np.linalg.norm(gamma2)
        print(f"{label}: condition {condition:.2e}, gamma1 {error1:.1e}, gamma2 {error2:.1e}, rmse/floor {rmse / floor:.2f}")
        program.check(max(error1, error2) <= 1e-10 * condition, f"{label}: {error1} {error2} at {condition}")
        program.check(rmse <= floor, f"{label}: rmse {rmse} floor {floor}")


def check_networks(folder):
    target = small_network(folder)
    out = os.path.join(folder, "net_out.h5")
    for residual, rule, skip, precision, limit in program.some((
            ("inner", "max", ["he-normal"], "double", 1e-9), ("outer", "max", ["er-sign"], "double", 1e-9),
            ("outer", "min", ["he-normal", "--skip-kernel", "target"], "double", 1e-9),
            ("inner", "min", ["he-uniform", "--skip-kernel", "target"], "single", 1e-1))):
        label = f"network {residual} {rule} {precision}"
        done = program.launch(["reconstruct", "--target", target, "--dataset", folder, "--samples", 20, "--seed", 4,
                               "--overparam", 0.2, "--residual", residual, "--skip"] + skip +
                              ["--width-rule", rule, "--precision", precision, "--save", "gamma,weights", "--output",
                               out, "--force"], 2)
        program.check(done.returncode == 0, f"{label}: {done.stderr}")
        with h5py.File(out) as f:
            error = float(f["output_max_error"][0])
            stored = f["layers/000/Ws"][0]
            program.check(f["layers/001"].attrs["residual"] in (residual, residual.encode()), label)
        print(f"{label}: largest difference {error:.2e}")
        program.check(error < limit, f"{label}: {error}")
        program.check(np.any(stored != 0), f"{label}: skip {stored}")
        again = evaluate(out, program.SEVERAL)
        program.check(again["max_error"] == float(f"{error:.8e}"), f"{label}: evaluate finds {again}")


def check_borders(folder):
    """With and without skips, five kernel splits and two strides: agreement to rounding at the borders too."""
    rng = np.random.default_rng(6)
    target, images, out = (os.path.join(folder, name) for name in ("border.h5", "images.h5", "border_out.h5"))
    with h5py.File(images, "w") as f:
        f["images"] = rng.uniform(0, 1, (6, 3, 7, 8))
    for stride in program.some((2, 1)):
        program.write_target(target, [
            {"weight": rng.standard_normal((3, 3, 3, 3)) / 5, "bias": rng.standard_normal(3) / 5, "type": "conv2d",
             "activation": act, "stride": s, "padding": 1, "pool": "none"}
            for act, s in (("relu", 1), ("leaky-relu", stride))],
            input_shape=np.array([3, 7, 8]), input_min=0.0, input_max=1.0)
        for split in program.some(("2x3+3x2", "first", "second", "2x2+2x2", "3x1+1x3")):
            done = program.launch(["reconstruct", "--target", target, "--dataset", images + ":/images", "--samples", 6,
                                   "--seed", 3, "--kernel-split", split, "--overparam", 0.2, "--residual",
                                   "none,inner,outer", "--width-rule", "max,min", "--output", out, "--force"])
            label = f"split {split} stride {stride}"
            program.check(done.returncode == 0, f"{label}: exit {done.returncode}: {done.stderr}")
            if done.returncode != 0:
                continue
            with h5py.File(out) as f:
                worst, clipped = f["output_max_error"][...].max(), f["n_clipped"][...].max()
            print(f"{label}: largest difference {worst:.1e}")
            program.check(0 < worst < 1e-10 and clipped == 0, f"{label}: difference {worst}, {clipped} clipped")


def check_refusals(folder):
    output = os.path.join(folder, "no.h5")
    for arguments, text in program.some((
            (["--skip", "he-normal"], "give --residual"), (["--residual", "both"], "--residual"),
            (["--residual", "inner", "--skip", "he-norml"], "he-normal"),
            (["--residual", "inner", "--skip", "./missing.h5"], "missing.h5"),
            (["--residual", "inner", "--skip-kernel", "target"], "--skip a law"),
            (["--residual", "outer", "--activation", "tanh"], "an outer skip works with identity"),
            (["--residual", "outer", "--c-out", 2], "an identity skip needs as many"),
            (["--residual", "outer", "--width-rule", "min", "--c-in", 1, "--skip", "normal"], "no equation is left"),
            (["--residual", "inner", "--skip", "./a.h5", "--c-in", "3,4"], "different shapes"))):
        shape = [item for name in ("--c-out", "--c-in") if name not in arguments for item in (name, 3)]
        done = program.launch(["reconstruct", "--seed", 1, "--output", output] + shape + arguments, 2)
        program.check(done.returncode == 2 and text in done.stderr and done.stderr.count("error:") == 1,
                      f"{arguments}: exit {done.returncode}: {done.stderr}")
    program.check(not os.path.exists(output), "a refused run left its output")


def main():
    with program.folder() as folder:
        check_systems(folder)
        check_networks(folder)
        check_borders(folder)
        check_refusals(folder)
    program.finish()


if __name__ == "__main__":
    main()
