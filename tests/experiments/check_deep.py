"""--construction deep: products of frozen layers between scales. Random targets are solved at the theorem's count, with
kernels in one layer and in two; the network run on inputs is the target's; what the file holds is a product that numpy
finds in its own way where weights are known; a signal ends a search, and a resumed run has equal bits; thin layers, one
layer, too few scales and wrong kernels are refused or said; large layers are solved by ranks together; draws whose
weights are mostly zero are results."""
import os
import signal
import subprocess

import h5py
import numpy as np

import program
from check_repeat import differing, variables

DEEP = ["reconstruct", "--construction", "deep", "--seed", 1, "--force"]


def run(*arguments, ranks=1):
    done = program.launch([*DEEP, *arguments], ranks)
    program.check(done.returncode == 0, f"{arguments} failed: {done.stderr}")
    return done


def refused(message, *arguments):
    done = program.launch([*DEEP, *arguments])
    program.check(done.returncode in (2, 4) and message in done.stderr, f"{arguments}: no '{message}' in {done.stderr}")


def check_solved(output, label, least, *arguments, ranks=1):
    """Solved targets reach the floor, and their networks compute what the targets compute."""
    run(*arguments, "--target-per-replica", "--output", output, ranks=ranks)
    with h5py.File(output) as f:
        solved = f["solved"][..., 0].ravel()
        good = solved == 1
        rmse, floor = f["rmse"][..., 0].ravel(), f["rmse_floor"][..., 0].ravel()
        program.check(good.sum() >= least, f"{label}: {good.sum()} of {good.size} solved")
        program.check((rmse[good] <= 100 * floor[good]).all() and (floor < 1e-12).all(), f"{label}: {rmse}, floors {floor}")
        error = f["output_max_error"][...].ravel()
        bound = 30 * f["shift_error_double"][..., 0].ravel() + 100 * f["max_error"][..., 0].ravel()
        program.check((error[good] < bound[good]).all(), f"{label}: outputs are off by {error}, expected {bound}")
        program.check((f["n_clipped"][...] == 0).all(), f"{label}: clipped")
        program.check((f["condition_jacobian"][...] >= 1).all(), f"{label}: {f['condition_jacobian'][...]}")
        widths = np.nansum(f["source_width"][...], -1)
        program.check((widths == f["n_features"][...]).all(), f"{label}: widths {widths}")
        print(f"{label}: {good.sum()} of {good.size} solved")


def check_file(folder):
    """Ranks change no bit; `norma evaluate` runs the stored scales and finds changed ones; a network of linear layers."""
    output, other, target = (os.path.join(folder, n) for n in ("one.h5", "two.h5", "target.h5"))
    shape = ["--c-out", 3, "--c-in", 4, "--replicas", 3, "--activation", "leaky-relu"]
    run(*shape, "--output", output)
    run(*shape, "--output", other, ranks=2)
    program.check(not differing(variables(output), variables(other)), "two ranks differ")
    with h5py.File(output, "r+") as f:
        program.check(f["layers/000/gamma"].shape == (3, 15), f"{f['layers/000/gamma'].shape} scales")
        before = f["output_max_error"][...]
        f["layers/000/gamma"][1, 4] *= 1.01
    done = program.launch(["evaluate", output])
    found = [float(l.split()[4]) for l in done.stdout.splitlines() if not l.startswith("#")]
    program.check(found[0] == float(f"{before[0]:.8e}") and found[1] > 1e-5, f"evaluate: {found}, {before}")

    random = np.random.default_rng(2)
    sizes, acts = (4, 3, 2), ("relu", "identity")
    weights = [random.standard_normal((b, a)) for a, b in zip(sizes, sizes[1:])]
    program.write_target(target, [{"weight": w, "bias": np.ones(len(w)), "type": "linear", "activation": a}
                                  for w, a in zip(weights, acts)], input_shape=4, input_min=-1.0, input_max=2.0)
    run("--target", target, "--output", output, "--samples", 50)
    with h5py.File(output) as f:
        program.check((f["solved"][0] == 1).all() and f["output_max_error"][0] < 1e-11, f"network: {f['output_max_error'][0]}")
    with h5py.File(target, "w") as f:
        kernel = f["k"] = random.standard_normal((3, 2, 2, 2))
    run("--target", target + ":/k", "--input-range=-1,1", "--depth", 2, "--kernels", "2x1+1x2", "--save", "gamma,weights",
        "--output", output)
    with h5py.File(output) as f:
        group = f["layers/000"]
        first, second = group["W1"][0, ..., 0], group["W2"][0, :, :, 0]
        scales = np.split(group["gamma"][0], [len(first)])
        product = np.einsum("i,icw,c,cjh->ijhw", scales[1], second, scales[0], first)
        program.check(np.abs(product - kernel).max() < 1e-10, f"weights of the file make a kernel off by {product - kernel}")
    refused("or one convolution alone", "--target", program.TRAINED, "--output", output)


def check_stop(folder):
    """A replica that would take many minutes is left at once; one that was left is searched anew with equal bits."""
    endless, straight, stopped = (os.path.join(folder, n) for n in ("endless.h5", "straight.h5", "stopped.h5"))
    unsolvable = ["--c-out", 6, "--c-in", 6, "--excess", -5]
    words = [str(a) for a in (*DEEP, *unsolvable, "--starts", 100000, "--output", endless)]
    process = subprocess.Popen([program.NORMA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        program.wait_begun(process, endless)
        process.send_signal(signal.SIGTERM)
        text = process.communicate(timeout=100)[1]
    finally:
        process.kill()
    program.check(process.returncode == 75 and "SIGTERM" in text, f"stopped: exit {process.returncode}: {text}")
    several = ["--replicas", 3, "--starts", 20]
    run(*unsolvable, *several, "--output", straight)
    program.stop_and_resume([*DEEP[:-1], *unsolvable, *several, "--output", stopped], 1, {})
    program.check(not differing(variables(straight), variables(stopped)), "a resumed run differs")


def check_large(folder):
    """Layers of more than 512 weights are solved by all ranks together, to the floor with excess scales."""
    shape = ["--c-out", 24, "--c-in", 24, "--excess", 60]
    output = os.path.join(folder, "large.h5")
    check_solved(output, "576 weights on two ranks", 1, *shape, ranks=2)
    with h5py.File(output) as f:
        program.check(f["n_rows"][0, 0] == 576 and f["jacobian_rank"][0, 0] == 576, "576 weights: rank")
        program.check(f["layers/000/gamma"].shape == (1, 639), f"576 weights: {f['layers/000/gamma'].shape} scales")
    straight, stopped = (os.path.join(folder, n) for n in ("straight_large.h5", "stopped_large.h5"))
    several = [*shape, "--target-per-replica", "--replicas", 2]
    run(*several, "--output", straight)
    program.stop_and_resume([*DEEP[:-1], *several, "--output", stopped], 2, {})
    program.check(not differing(variables(straight), variables(stopped)), "a large run that was resumed differs")
    plan = program.launch(["plan", *DEEP[:-1], "--c-out", 48, "--c-in", 48, "--ranks", 4])
    program.check(plan.returncode == 0 and " 2307 " in plan.stdout, f"plan of four ranks: {plan.stdout} {plan.stderr}")
    refused("groups of 2 ranks need as many", *shape, "--group-size", 2)
    skip = program.launch(["reconstruct", "--construction", "skip", *shape[:4], "--group-size", 1, "--output", stopped])
    program.check(skip.returncode == 2 and "not with --construction skip" in skip.stderr, f"skip: {skip.stderr}")


def check_zeros(folder):
    """Draws whose weights are mostly, or all, zero are results of a sweep: least squares, and a count of the rank."""
    output = os.path.join(folder, "zeros.h5")
    done = run("--c-out", 3, "--c-in", 3, "--source-dist", "sparse-he-normal", "--keep-probability", "0.05,0.3,0.9",
               "--replicas", 3, "--output", output)
    program.check("leave the Jacobian rank 0 of 9" in done.stderr, f"zeros: {done.stderr}")
    with h5py.File(output) as f:
        rank, solved = f["jacobian_rank"][..., 0], f["solved"][..., 0]
        rmse = f["rmse"][..., 0]
        program.check((rank[0] == 0).all() and (rank[1] < 9).all() and (rank[2] == 9).all(), f"zeros: ranks {rank}")
        program.check((solved[:2] == 0).all() and (solved[2] == 1).all(), f"zeros: solved {solved}")
        program.check((rmse[1] <= rmse[0] * (1 + 1e-12)).all() and np.ptp(rmse[0]) == 0, f"zeros: rmse {rmse}")


def main():
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        check_solved(output, "linear layers", 20, "--c-out", "2,4", "--c-in", "3", "--depth", "2,3,4", "--replicas", 4,
                     "--activation", "relu", ranks=2)
        check_solved(output, "a kernel in one layer", 3, "--c-out", 2, "--c-in", 2, "--kernel", "3x3", "--kernels", "3x3+1x1+1x1",
                     "--replicas", 3, "--activation", "relu")
        check_solved(output, "a kernel in two layers", 3, "--c-out", 2, "--c-in", 1, "--kernel", "5x4", "--kernels", "3x2+3x3+1x1",
                     "--replicas", 3)
        check_file(folder)
        check_stop(folder)
        check_large(folder)
        check_zeros(folder)
        done = run("--c-out", 3, "--c-in", 3, "--excess", -5, "--output", output)
        program.check("least squares" in done.stderr, f"too few scales: {done.stderr}")
        with h5py.File(output) as f:
            program.check(f["solved"][0, 0] == 0 and f["rmse"][0, 0] > 1e-3 and f["slack"][0, 0] == -5, "too few scales")
        plan = program.launch(["plan", *DEEP[:-1], "--c-out", 48, "--c-in", 48])
        program.check(plan.returncode == 0 and "2307" in plan.stdout, f"plan: {plan.stdout} {plan.stderr}")
        thin = ["--c-out", 4, "--c-in", 1, "--kernel", "1x4", "--kernels", "1x4+1x1+1x1", "--output", output]
        refused("has rank 7 at random scales", *thin, "--widths", "30+1")
        refused("is not a list of widths", "--c-out", 3, "--c-in", 3, "--widths", "8+")
        refused("only change their length", "--c-out", 3, "--c-in", 3, "--depth", 1)
        refused("their composite is 3x3, the target's kernel 1x1", "--c-out", 3, "--c-in", 3, "--kernels", "3x3+1x1+1x1")
        refused("is not a list of 3 kernels", "--c-out", 3, "--c-in", 3, "--kernels", "3x3+1x1")
        refused("is for source pairs", "--c-out", 3, "--c-in", 3, "--solver", "qr")
        refused("needs --construction skip", "--c-out", 3, "--c-in", 3, "--block", 1)
    program.finish()


main()
