"""Results of one command run twice, with each kind of core that OpenBLAS and Norma choose among, and with more threads;
and the error of each solver on one system, against a solution refined in extended precision."""
import os

import h5py
import numpy as np

import program
from check_numpy import composite

TIMINGS = ("seconds", "gflops", "peak_memory")


def variables(path):
    """Every variable but timings."""
    found = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset) and name != "configuration" and not any(t in name for t in TIMINGS):
            found[name] = np.asarray(item[()])

    with h5py.File(path) as f:
        f.visititems(take)
    return found


def differing(a, b):
    return sorted(set(a) ^ set(b)) + [n for n in a if n in b and a[n].tobytes() != b[n].tobytes()]


def run(label, arguments, ranks, out, environment=None):
    done = program.launch(["reconstruct", *arguments, "--seed", 6, "--force", "--output", out], ranks,
                          environment=environment)
    program.check(done.returncode == 0, f"{label}: {done.stderr}")
    return variables(out) if done.returncode == 0 else {}


def check_twice(folder):
    out = os.path.join(folder, "twice.h5")
    small = ["--c-out", 6, "--c-in", 5, "--kernel", "3x3"]
    network = ["--target", program.TRAINED, "--dataset", "fashion-mnist", "--samples", 6, "--layers", "0,5"]
    for label, arguments in program.some([("network", network + ["--solver", "krylov", "--overparam", 0.3])] + [
            (solver, small + ["--solver", solver, "--replicas", 2, "--save", "gamma,weights", "--width-rule", "min"])
            for solver in ("lu", "mixed", "krylov", "qr", "svd", "lbfgs", "lbfgs-svd")] + [
            ("chebyshev", small + ["--solver", "chebyshev", "--overparam", 0.3, "--save", "gamma,weights"])], 2):
        for ranks in program.some((2, 3)):
            first, second = (run(label, arguments, ranks, out) for _ in range(2))
            off = differing(first, second)
            print(f"{label} on {ranks} ranks: {len(first)} variables, {len(off)} differ between two runs")
            program.check(len(first) > 30 and not off, f"{label} on {ranks} ranks: {off} differ between two runs")


def check_cores(folder):
    """Weights have the same bits on any processor, solutions the same to rounding."""
    out = os.path.join(folder, "cores.h5")
    arguments = ["--c-out", 6, "--c-in", 5, "--kernel", "3x3", "--solver", "lu", "--save", "gamma,weights",
                 "--source-dist", "orthogonal"]
    plain = run("cores", arguments, 2, out)
    for environment in program.some(({"OPENBLAS_CORETYPE": "Prescott", "NORMA_ISA": "scalar"}, {"OMP_NUM_THREADS": "2"},
                                     {"OPENBLAS_CORETYPE": "Haswell"}, {"OPENBLAS_CORETYPE": "SkylakeX"},
                                     {"NORMA_ISA": "avx2"})):
        label = " ".join(f"{k}={v}" for k, v in environment.items())
        other = run(label, arguments, 2, out, environment)
        if not other:
            continue
        for name in ("layers/000/W1", "layers/000/W2"):
            program.check(plain[name].tobytes() == other[name].tobytes(), f"{label}: {name} differs in its bits")
        off = np.linalg.norm(plain["layers/000/gamma1"] - other["layers/000/gamma1"]) / np.linalg.norm(
            plain["layers/000/gamma1"])
        print(f"{label}: weights equal in every bit, gamma1 differs by {off:.1e}")
        program.check(off <= max(1e-9, 10 * float(plain["condition_number"].max()) * 2.0 ** -53), f"{label}: gamma1 {off}")


def check_accuracy(folder):
    """Residual and forward error of every solver on one square system, and singular values against numpy's."""
    out, goal = os.path.join(folder, "accuracy.h5"), os.path.join(folder, "goal.h5")
    target = np.random.default_rng(11).standard_normal((8, 8, 3, 3))
    with h5py.File(goal, "w") as f:
        f["w"] = target
    errors = {}
    solvers = program.some(("lu", "mixed", "krylov", "qr", "svd"), 2)
    for solver in solvers:
        found = run(solver, ["--target", goal + ":/w", "--solver", solver, "--save", "gamma,weights",
                             "--condition", "full"], 2, out)
        if not found:
            continue
        matrix = composite(found["layers/000/W1"][0], found["layers/000/W2"][0]).reshape(8 * 72, -1)
        exact = np.zeros(len(matrix), np.longdouble)  # refined with residuals in extended precision
        for _ in range(6):
            rest = target.ravel().astype(np.longdouble) - (matrix.astype(np.longdouble) * exact).sum(axis=1)
            exact += np.linalg.solve(matrix, rest.astype(float))
        # beta1, beta2 scale nothing here: identity is exact.
        gamma = found["layers/000/gamma1"][0]
        forward = float(np.linalg.norm(gamma - exact) / np.linalg.norm(exact))
        errors[solver] = forward
        sigma = np.linalg.svd(matrix, compute_uv=False)
        condition = sigma[0] / sigma[-1]
        residual = float(found["relative_residual"][0, 0])
        print(f"{solver}: relative residual {residual:.1e}, forward error {forward:.1e}, condition {condition:.2e}")
        program.check(forward <= 10 * condition * 2.0 ** -53, f"{solver}: forward error {forward} at {condition}")
        program.check(abs(float(found["condition_number"][0, 0]) / condition - 1) < 0.01,
                      f"{solver}: condition {found['condition_number']}, {condition} expected")
        if solver == "svd":  # with vectors; numpy's are without
            for threads in (1, 2, 4):
                again = run("svd", ["--target", goal + ":/w", "--solver", "svd", "--save", "gamma,weights"], 2, out,
                            {"OMP_NUM_THREADS": str(threads)})
                off = max(abs(float(again["sigma_max"][0, 0]) - sigma[0]), abs(float(again["sigma_min"][0, 0]) - sigma[-1]))
                print(f"svd on {threads} threads: singular values off by {off / sigma[0]:.1e} of the largest")
                program.check(off <= 1e-12 * sigma[0], f"svd on {threads} threads: {off}")
    program.check(len(errors) == len(solvers) and errors["mixed"] <= 4 * errors["lu"], f"forward errors {errors}")


def main():
    with program.folder() as folder:
        check_twice(folder)
        check_cores(folder)
        check_accuracy(folder)
    program.finish()


if __name__ == "__main__":
    main()
