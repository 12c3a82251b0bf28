"""norma align against numpy and norma reconstruct: least squares of the permuted target, greedy as a script has it,
all permutations, linear assignment of id-cond; searches that are never worse than greedy; matchings; stopped and
resumed runs; refusals; planned memory."""
import itertools
import os
import time

import h5py
import numpy as np

import program
from check_numpy import composite, embed

ONE_THREAD = {"OMP_NUM_THREADS": "1"}
SEARCHES = ["none", "random", "greedy", "greedy-printed", "assignment", "swaps", "anneal", "exhaustive"]


def run(label, arguments, out, ranks=1):
    done = program.launch(["align", *arguments, "--output", out, "--force"], ranks, environment=ONE_THREAD)
    program.check(done.returncode == 0, f"{label}: exit {done.returncode}: {done.stderr}")
    return done


def numbers(path, *names):
    with h5py.File(path) as f:
        return [f[name][()] for name in names]


def greedy(residual, target, last):
    """The greedy search with the criterion from residual (target) -> squared norm; order of channels by
    the part of their weights that features cannot reach."""
    c2 = len(target)
    order = np.argsort(-residual.weights.round(12), kind="stable")
    rows = list(range(c2))
    before = residual(target[rows])
    for turn, i in enumerate(order):
        best, partner = before, None
        for k in order[turn + 1:]:
            tried = rows.copy()
            tried[i], tried[k] = tried[k], tried[i]
            after = residual(target[tried])
            if after < (before if last else best) * (1 - 1e-12):
                best, partner = after, k
        if partner is not None:
            rows[i], rows[partner] = rows[partner], rows[i]
            before = best
    return before


class Residual:
    """Squared norm of what a matrix leaves of a target, from its singular vectors."""

    def __init__(self, m, c2):
        u, s, _ = np.linalg.svd(m)
        rank = int(np.sum(s > 1e-10 * s[0]))
        self.basis = u[:, rank:]
        self.weights = np.sum(self.basis.reshape(c2, -1) ** 2, axis=1)

    def __call__(self, target):
        return float(np.sum((self.basis.T @ target.ravel()) ** 2))


def unit_source(c2, c0, missing, rng):
    """Features of a single weight each, some missing."""
    kept = np.sort(rng.permutation(c2 * c0)[missing:])
    w1, w2 = np.zeros((len(kept), c0)), np.zeros((c2, len(kept)))
    w1[np.arange(len(kept)), kept % c0] = 1
    w2[kept // c0, np.arange(len(kept))] = 1
    return w1, w2


def sources(rng):
    """(name, W1, W2, target) of three families, of one and several taps."""
    yield "normal", rng.standard_normal((22, 5)), rng.standard_normal((5, 22)), rng.standard_normal((5, 5))
    w1, w2 = rng.standard_normal((36, 3, 2, 1)), rng.standard_normal((6, 36, 2, 1))
    yield "taps", w1, w2, rng.standard_normal((6, 3, 3, 1))
    mask = [rng.random(shape) < 0.7 for shape in ((30, 6), (6, 30))]
    yield "sparse", rng.standard_normal((30, 6)) * mask[0], rng.standard_normal((6, 30)) * mask[1], \
        rng.standard_normal((6, 6))
    yield "unit", *unit_source(6, 7, 8, rng), rng.standard_normal((6, 7)) * (rng.random((6, 7)) < 0.6)
    yield "one feature", rng.standard_normal((1, 3)), rng.standard_normal((4, 1)), rng.standard_normal((4, 3))
    yield "one channel", rng.standard_normal((2, 3)), rng.standard_normal((1, 2)), rng.standard_normal((1, 3))
    equal = rng.standard_normal((5, 4))
    equal[3] = equal[1]
    yield "equal rows", rng.standard_normal((15, 4)), rng.standard_normal((5, 15)), equal


def check_given(folder):
    """Every search: its RMSE is that of norma reconstruct --solver qr on the permuted target."""
    rng = np.random.default_rng(20241129)
    source, goal, permuted, out, again, solved = (
        os.path.join(folder, name + ".h5") for name in ("source", "target", "permuted", "out", "again", "solved"))
    for number, (name, w1, w2, target) in enumerate(program.some(sources(rng), 2)):
        searches = SEARCHES + (["assignment-printed"] if name == "unit" else [])
        program.write_source(source, [(w1, w2)])
        with h5py.File(goal, "w") as f:
            f["w"] = target
        arguments = ["--target", goal + ":/w", "--source", source, "--search", ",".join(searches), "--seed", number]
        run(name, arguments, out, 1 + number % 2)
        if number in (0, 3):
            run(name, arguments, again)
            program.check(np.array_equal(numbers(out, "permutation")[0], numbers(again, "permutation")[0]),
                          f"{name}: a second run differs")
        kr = composite(w1, w2) if w1.ndim == 4 else composite(w1[:, :, None, None], w2[:, :, None, None])
        c2 = kr.shape[0]
        m = kr.reshape(-1, kr.shape[-1])
        wide = embed(target if target.ndim == 4 else target[:, :, None, None], kr.shape[2:4]).reshape(c2, -1)
        residual = Residual(m, c2)
        (rmse, permutation, rank) = (x[0] for x in numbers(out, "rmse", "permutation", "rank"))
        program.check(rank == np.linalg.matrix_rank(m), f"{name}: rank {rank}")
        best = min(residual(wide[list(p)]) for p in itertools.permutations(range(c2)))
        expected = {"none": residual(wide), "greedy": greedy(residual, wide, False),
                    "greedy-printed": greedy(residual, wide, True), "exhaustive": best}
        if name == "unit":
            expected["assignment"] = best
        scale = np.sqrt(np.sum(wide ** 2))
        for search, found, order in zip(searches, rmse, permutation):
            program.check(sorted(order) == list(range(c2)), f"{name} {search}: {order} is no permutation")
            by_numpy = np.sqrt(residual(wide[order]) / wide.size)
            program.check(abs(found - by_numpy) < 1e-13 * scale, f"{name} {search}: {found}, numpy {by_numpy}")
            if search in expected:
                wanted = np.sqrt(expected[search] / wide.size)
                program.check(abs(found - wanted) < 1e-13 * scale, f"{name} {search}: {found}, expected {wanted}")
            program.check(found > np.sqrt(best / wide.size) - 1e-13 * scale, f"{name} {search}: below the optimum")
        for search in ("greedy", "anneal")[number % 2:1 + number % 2]:
            at = searches.index(search)
            with h5py.File(permuted, "w") as f:
                f["w"] = target[permutation[at]]
            done = program.launch(["reconstruct", "--target", permuted + ":/w", "--source", source, "--solver", "qr",
                                   "--width-rule", "max", "--seed", 1, "--output", solved, "--force"],
                                  environment=ONE_THREAD)
            program.check(done.returncode == 0, f"{name} {search}: reconstruct: {done.stderr}")
            wanted = float(np.ravel(numbers(solved, "rmse")[0])[0])
            program.check(abs(rmse[at] - wanted) <= 1e-12 * max(wanted, scale / np.sqrt(wide.size)),
                          f"{name} {search}: {rmse[at]}, reconstruct {wanted}")


def check_searches(folder):
    """30 problems of three families: swaps and anneal are never worse than greedy; at c2 = 8 they find the optimum
    in 9 of 10, and the assignment always for id-cond."""
    out = os.path.join(folder, "out.h5")
    run("families", ["--channels", 12, "--excess", -20, "--source-dist", "he-normal,orthogonal,id-cond",
                     "--target-density", 0.7, "--search", "none,greedy,swaps,anneal", "--restarts", 4,
                     "--anneal-sweeps", 30, "--replicas", 10, "--seed", 11], out, 2)
    rmse = numbers(out, "rmse")[0]
    program.check(rmse.shape == (3, 10, 4), f"families: {rmse.shape}")
    program.check(np.all(rmse[..., 2:] <= rmse[..., 1:2] * (1 + 1e-12)), f"worse than greedy: {rmse}")
    program.check(np.all(rmse[..., 1] <= rmse[..., 0]), f"greedy is worse than none: {rmse}")
    laws = "he-normal,id-cond" + (",orthogonal" if program.ALL else "")
    run("eight", ["--channels", 8, "--excess", -12, "--source-dist", laws, "--target-dist", "normal",
                  "--search", "swaps,anneal,assignment,exhaustive", "--replicas", 10, "--seed", 12], out, 2)
    rmse = numbers(out, "rmse")[0]
    equal = np.sum(rmse[..., :2] <= rmse[..., 3:] * (1 + 1e-10), axis=1)
    program.check(np.all(equal >= 9), f"optimum found {equal} times of 10")
    program.check(np.all(np.abs(rmse[1, :, 2] - rmse[1, :, 3]) < 1e-14), "id-cond: assignment is not the optimum")
    if not program.ALL:
        return
    run("one start", ["--channels", 16, "--excess", -40, "--search", "swaps,anneal", "--restarts", 1, "--anneal-starts", 1,
                      "--replicas", 30, "--seed", 3], out, 2)
    swaps, anneal = np.mean(numbers(out, "criterion")[0], axis=0)
    print(f"one start: criterion {anneal:.3f} by annealing and descent, {swaps:.3f} by descent alone")
    program.check(anneal < 0.8 * swaps, "annealing gains nothing over descent alone")


def check_targets(folder):
    """Ranks and densities of random targets, the mean error without a search, features that are left out."""
    out, other = (os.path.join(folder, name) for name in ("out.h5", "other.h5"))
    run("density", ["--channels", 20, "--excess", -40, "--source-dist", "id-cond", "--target-dist", "normal",
                    "--target-density", "0.2,0.8", "--search", "none", "--replicas", 40, "--seed", 13], out, 2)
    rmse, rms = numbers(out, "rmse", "target_rms")
    for q, errors, sizes in zip((0.2, 0.8), rmse[..., 0], rms):
        program.check(abs(np.mean(sizes ** 2) / q - 1) < 0.1, f"density {q}: squares {np.mean(sizes ** 2)}")
        program.check(abs(np.mean(errors ** 2) / (q * 0.1) - 1) < 0.2, f"density {q}: errors {np.mean(errors ** 2)}")
    # A target of rank 1 has equal rows but for a factor: exchanges of two rows cannot always help.
    run("hidden", ["--channels", 6, "--excess", -3, "--target-hidden", 1, "--search", "none", "--seed", 14], out)
    run("last", ["--channels", 6, "--excess", -3, "--source-dist", "id-cond", "--left-out", "last", "--search", "none",
                 "--seed", 14], out)
    done = program.launch(["reconstruct", "--c-out", 6, "--c-in", 6, "--excess", -3, "--source-dist", "id-cond",
                           "--width-rule", "max", "--solver", "qr", "--seed", 14, "--output", other, "--force"],
                          environment=ONE_THREAD)
    program.check(done.returncode == 0, f"last: {done.stderr}")
    got, wanted = numbers(out, "rmse")[0][0, 0], float(np.ravel(numbers(other, "rmse")[0])[0])
    program.check(abs(got / wanted - 1) < 1e-12, f"last: {got}, reconstruct {wanted}")
    run("full", ["--channels", 4, "--search", "none,greedy,swaps", "--seed", 15], out)
    program.check(np.all(numbers(out, "criterion")[0] == 0), "full rank: a criterion above 0")
    run("er-sign", ["--channels", 4, "--source-dist", "er-sign", "--keep-probability", 0.3, "--search", "none",
                    "--replicas", 30, "--seed", 16], out)
    rank, criterion = numbers(out, "rank", "criterion")
    program.check(np.all((rank < 16) == (criterion[:, 0] > 0)) and np.any(rank < 16), f"er-sign: ranks {rank}")


def check_matching(folder):
    out, goal = (os.path.join(folder, name) for name in ("out.h5", "target.h5"))
    run("4.3", ["--c-out", 1, "--c-in", 50, "--target-density", 0.2, "--match-target", "drawn", "--match-present", 0.8,
                "--match-rows", 12, "--match-trials", 20000, "--seed", 17], out)
    found, low, high, bound, claimed = (x[0] for x in numbers(
        out, "match_probability", "match_low", "match_high", "match_bound", "match_claimed"))
    program.check(low < found < high and high - low < 0.014, f"4.3: {low} {found} {high}")
    program.check(abs(bound - 0.7232014) < 1e-7 and abs(claimed - 0.8116719) < 1e-7, f"4.3: {bound} {claimed}")
    program.check(abs(found - bound) < 0.016, f"4.3: measured {found}, exact {bound}")
    with h5py.File(goal, "w") as f:
        f["w"] = np.array([[1.0, 0, 0], [0, 0, 2.0]])
    run("4.2", ["--target", goal + ":/w", "--match-present", 0.8, "--match-trials", 20000, "--seed", 18], out)
    found, bound = (x[0] for x in numbers(out, "match_probability", "match_bound"))
    program.check(abs(found - 0.8704) < 0.012 and abs(bound - 0.9216) < 1e-12, f"4.2: {found}, bound {bound}")


def check_resume(folder):
    """A run that is stopped between replicas goes on with the others and ends with the same numbers."""
    straight, stopped = (os.path.join(folder, name) for name in ("straight.h5", "stopped.h5"))
    command = ["--channels", 24, "--excess", -40, "--search", "greedy,anneal", "--anneal-starts", 3, "--replicas", 40,
               "--seed", 9]
    run("straight", command, straight, 2)
    program.stop_and_resume(["align", *command, "--output", stopped], 1, ONE_THREAD)
    for name in ("rmse", "permutation", "n_evaluations", "rank", "target_rms"):
        a, b = numbers(straight, name)[0], numbers(stopped, name)[0]
        program.check(np.array_equal(a, b), f"resumed: {name} differs")


def check_refusals(folder):
    source, goal = (os.path.join(folder, name) for name in ("bad.h5", "target.h5"))
    w1, w2 = np.ones((3, 2)), np.ones((2, 3))
    w1[1, 1] = np.nan
    program.write_source(source, [(w1, w2)])
    with h5py.File(goal, "w") as f:
        f["w"] = np.ones((3, 2))
    given = ["--c-out", 2, "--c-in", 2]
    cases = [
        ([], "no shape"),
        ([*given, "--source", source], "nan"),
        (["--target", goal + ":/w", "--source", source], "2"),
        (["--target", goal + ":/w", "--target-density", 0.5], "random target"),
        (["--target", goal + ":/none"], "none"),
        ([*given, "--search", "simulated"], "unknown"),
        ([*given, "--search", "greedy,greedy"], "twice"),
        ([*given, "--search", "assignment-printed"], "id-cond"),
        (["--channels", 10, "--search", "exhaustive"], "at most 9"),
        ([*given, "--features", 0], "features"),
        ([*given, "--excess", -4], "at least one"),
        ([*given, "--match-rows", 3], "needs --match-trials"),
        ([*given, "--source-dist", "id-cond", "--features", 5], "features"),
        ([*given, "--target-density", "nan"], "target-density"),
        (["--target", goal + ":/w", "--source", source, "--replica-offset", 3], "--replica-offset: source and target are the same"),
    ]
    for arguments, text in program.some(reversed(cases), 4):
        out = os.path.join(folder, "refused.h5")
        done = program.launch(["align", *arguments, "--seed", 1, "--output", out], environment=ONE_THREAD)
        program.check(done.returncode == 2 and text in done.stderr.lower() + done.stderr,
                      f"{arguments}: exit {done.returncode}: {done.stderr}")
        program.check(not os.path.exists(out), f"{arguments}: left a result")
    done = program.launch(["align", "--channels", 2000, "--excess", -1, "--seed", 1, "--output", out],
                          environment=ONE_THREAD)
    program.check(done.returncode == 3, f"too large: exit {done.returncode}: {done.stderr}")


def check_plan(folder):
    """The memory that a plan announces is within 10% of the peak."""
    out = os.path.join(folder, "out.h5")
    for arguments in program.some((["--channels", 30, "--overparam", -0.4], ["--channels", 40, "--excess", -100])):
        line = program.launch(["plan", "align", *arguments], environment=ONE_THREAD).stdout.splitlines()[-1].split()
        number = float(line[3]) * {"MiB": 2 ** 20, "GiB": 2 ** 30}[line[4]]
        done = program.launch(["align", *arguments, "--search", "greedy", "--seed", 1, "--output", out, "--force"],
                              peak=True, environment=ONE_THREAD)
        print(f"{arguments}: planned {number / 2 ** 20:.1f} MiB, peak {done.peak / 2 ** 20:.1f}")
        program.check(abs(number / done.peak - 1) < 0.1, f"{arguments}: planned {number}, peak {done.peak}")


def main():
    for check in (check_given, check_searches, check_targets, check_matching, check_resume, check_refusals,
                  check_plan):
        if check is check_resume and not program.ALL:
            continue
        begun = time.monotonic()
        with program.folder() as folder:
            check(folder)
        print(f"{check.__name__}: {time.monotonic() - begun:.1f} s")
    program.finish()


if __name__ == "__main__":
    main()
