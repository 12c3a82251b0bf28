"""--construction skip: blocks of inputs with skip connections. Digits are predicted and met, what the file says fits
together, whole networks run on inputs, ranks and resumption change nothing, `norma evaluate` finds changed scales, and
shapes that leave no digit are refused with one that would do."""
import os
import re
import signal
import subprocess

import h5py
import numpy as np

import program
from check_repeat import differing, variables

SKIP = ["reconstruct", "--construction", "skip", "--seed", 3, "--force"]
RANDOM = [*SKIP, "--c-out", 12, "--c-in", 16, "--activation", "relu"]


def run(command, *arguments, ranks=1):
    done = program.launch([*command, *arguments], ranks)
    program.check(done.returncode == 0, f"{arguments} failed: {done.stderr}")
    return done


def refused(message, *arguments, command=RANDOM):
    done = program.launch([*command, *arguments])
    program.check(done.returncode in (2, 4) and message in done.stderr, f"{arguments}: no '{message}' in {done.stderr}")
    return done.stderr


def evaluated(path, *arguments):
    done = run(["evaluate", path], *arguments)
    return [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]


def check_digits(output):
    """Every block loses at most what its condition predicts; the errors of blocks and weights agree."""
    run(RANDOM, "--block", "2,4", "--overparam", ",".join(program.some(("0.5", "1", "2"))), "--source-dist",
        ",".join(program.some(("normal", "orthogonal"))), "--replicas", 2, "--output", output, ranks=2)
    with h5py.File(output) as f:
        lost, predicted = f["block_digits_lost"][...], f["block_digits_predicted"][...]
        program.check(lost.shape[-1] == 8 and np.isnan(lost).sum() == np.isnan(predicted).sum() == lost.size / 4,
                      f"{np.isnan(lost).sum()} of {lost.size} numbers of blocks are missing")
        known = ~np.isnan(lost)
        program.check((lost < predicted + 1)[known].all(), f"digits are lost: {lost - predicted}")
        program.check(np.nanmax(predicted) < 8 and np.nanmin(lost) >= 0, f"digits {lost}, {predicted}")
        program.check(np.allclose(f["digits_left"][...], np.log10(2.0**53) - np.nanmax(predicted, -1)), "digits_left")
        relative = f["relative_residual"][...]
        blocks = np.nanmax(f["block_relative_error"][...], -1)
        program.check((relative < 3 * blocks + 1e-15).all(), f"residuals {relative}, of blocks at most {blocks}")
        program.check((f["output_max_error"][...] < 30 * f["shift_error_double"][..., 0] + 60 * f["max_error"][..., 0]).all(),
                      f"outputs are off by {f['output_max_error'][...]}")
        program.check((f["n_clipped"][...] == 0).all(), "clipped")
        program.check((f["condition_number"][...] == np.nanmax(f["block_condition"][...], -1)).all(), "condition_number")


def check_network(folder):
    """A network of three linear layers on images: source and target agree, one layer may stay the target's."""
    random = np.random.default_rng(5)
    target, images, output = (os.path.join(folder, n) for n in ("target.h5", "images.h5", "network.h5"))
    sizes = (24, 10, 8, 5)
    weights = [random.standard_normal((b, a)) / np.sqrt(a) for a, b in zip(sizes, sizes[1:])]
    biases = [random.standard_normal(b) for b in sizes[1:]]
    x = random.uniform(-1, 1, (30, 1, 4, 6))
    with h5py.File(images, "w") as f:
        f["images"] = x
    acts = ("relu", "leaky-relu", "identity")
    program.write_target(target, [{"weight": w, "bias": b, "type": "linear", "activation": a}
                                  for w, b, a in zip(weights, biases, acts)],
                         input_shape=(1, 4, 6), input_min=-1.0, input_max=1.0)
    y = x.reshape(30, -1)
    for w, b, a in zip(weights, biases, acts):
        y = y @ w.T + b
        y = np.where(y < 0, {"relu": 0, "leaky-relu": 0.01, "identity": 1}[a] * y, y)
    for more in program.some(((), ("--layers", "0,2"))):
        run(SKIP, "--target", target, "--dataset", images + ":/images", "--samples", 30, "--block", 2, "--overparam", 1,
            "--output", output, *more)
        with h5py.File(output) as f:
            program.check(abs(f["output_max"][0] - np.abs(y).max()) < 1e-12, f"{f['output_max'][0]}, numpy {np.abs(y).max()}")
            program.check(f["output_max_error"][0] < 1e-8 * f["output_max"][0], f"outputs are off by {f['output_max_error'][0]}")
            program.check(f["n_clipped"][0] == 0 and f["n_decisions_differing"][0] == 0, "decisions differ")
            program.check(("layers/001" in f) == (not more), "arrays of a layer that was not asked for")
            error = f["output_max_error"][0]
        program.check(float(evaluated(output)[0][4]) == float(f"{error:.8e}"), "norma evaluate differs")
        program.check(len(evaluated(output, "--samples", 7)) == 1, "norma evaluate --samples")
    refused("takes linear layers without a pool", "--target", program.TRAINED, command=SKIP)


def check_file(folder):
    """Scales in the file make the outputs; changed ones are found. Ranks and resumption change no bit."""
    output, other = os.path.join(folder, "one.h5"), os.path.join(folder, "two.h5")
    command = [*RANDOM, "--overparam", 1, "--replicas", 3, "--target-per-replica", "--samples", 200, "--save", "gamma,weights"]
    run(command, "--output", output)
    run(command, "--output", other, ranks=2)
    program.check(not differing(variables(output), variables(other)), "two ranks differ")
    with h5py.File(output) as f:
        program.check(f["layers/000/gamma"].shape == (3, 4 * 96) and f["layers/000/beta"].shape == (3, 4 * 96 + 12), "shapes")
        program.check(np.allclose(f["max_abs_gamma"][:, 0], np.abs(f["layers/000/gamma"][...]).max(1)), "max_abs_gamma")
        errors = f["output_max_error"][...]
    program.check(np.array_equal([float(l[4]) for l in evaluated(output)], [float(f"{e:.8e}") for e in errors]), "evaluate")
    with h5py.File(output, "r+") as f:
        f["layers/000/gamma"][1, 7] += 1e-3
    found = [float(l[4]) for l in evaluated(output)]
    program.check(found[1] > 1e-6 and found[0] < 1e-10, f"a changed scale gives {found}")

    stopped = os.path.join(folder, "stopped.h5")
    process = subprocess.Popen([str(a) for a in [program.NORMA, *long_command(), "--output", stopped]],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program.wait_begun(process, stopped)
    process.send_signal(signal.SIGTERM)
    program.check(process.wait() in (0, 75), "stopping fails")
    run(long_command(), "--output", stopped, "--resume")
    run(long_command(), "--output", other)
    program.check(not differing(variables(other), variables(stopped)), "a resumed run differs")


def long_command():
    return [*SKIP, "--c-out", 24, "--c-in", 24, "--overparam", 1, "--replicas", 16, "--save", "gamma,weights"]


def main():
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        check_digits(output)
        check_network(folder)
        check_file(folder)
        plan = program.launch(["plan", *RANDOM[:-2], "--block", "1,2"])
        program.check(plan.returncode == 0 and "192" in plan.stdout, f"plan: {plan.stdout} {plan.stderr}")

        RANDOM.extend(["--output", output])
        text = refused("none of the 16 digits is left", "--block", 1, "--nearest", "zero", command=LARGE + ["--output", output])
        k, width = map(int, re.search(r"--block (\d+) --features (\d+) would do", text).groups())
        run(LARGE, "--block", k, "--features", width, "--nearest", "zero", "--output", output)
        refused("blocks of 3 inputs do not divide the 16 inputs", "--block", 3)
        refused("is for source pairs", "--solver", "qr")
        refused("is for source pairs", "--save", "spectrum")
        refused("is a law of source pairs", "--source-dist", "id-cond")
        refused("are opened by shifts", "--activation", "tanh", command=RANDOM[:RANDOM.index("--activation")] + ["--output", output])
        refused("needs --construction skip", "--block", 2, command=["reconstruct", "--c-out", 3, "--c-in", 3])
        done = run(RANDOM, "--features", 40)
        program.check("least squares" in done.stderr, f"a narrow source: {done.stderr}")
    program.finish()


LARGE = [*SKIP, "--c-out", 16, "--c-in", 64]
main()
