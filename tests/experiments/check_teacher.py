"""--construction teacher: losses of drawn teachers are those that numpy finds with random numbers of its own; they fall
at D = d^2 and, with masks, at the least width of each seed; ranks and resumption change no bit; students are met."""
import os

import h5py
import numpy as np

import philox
import program
from check_repeat import differing, variables

TARGET_WEIGHTS, INPUTS = 1, 10  # purposes of random numbers
D, SAMPLES, SEED = 6, 3000, 11
TEACHER = ["reconstruct", "--construction", "teacher", "--width", D, "--samples", SAMPLES, "--seed", SEED, "--force"]


def run(*arguments, ranks=1, command=TEACHER):
    done = program.launch([*command, *arguments], ranks)
    program.check(done.returncode == 0, f"{arguments} failed: {done.stderr}")
    return done


def refused(message, *arguments, command=TEACHER):
    done = program.launch([*command, *arguments])
    program.check(done.returncode == 2 and message in done.stderr, f"{arguments}: no '{message}' in {done.stderr}")


def teacher_of(replica, n=SAMPLES):
    """Weights, inputs and outputs of a teacher from random numbers of numpy."""
    weights = philox.normals(SEED, D * D, TARGET_WEIGHTS, replica=replica).reshape(D, D) / np.sqrt(D)
    x = philox.normals(SEED, n * D, INPUTS, replica=replica).reshape(n, D)
    return weights, x, np.maximum(x @ weights.T, 0).sum(1)


def source_of(group, replica, x):
    """Outputs of the source in a file, and pre-activations below 0."""
    w1, w2 = group["W1"][replica, :, :, 0, 0], group["W2"][replica, :, :, 0, 0]
    z = x @ w1.T * group["gamma1"][replica] + group["beta1"][replica]
    y = np.maximum(z, 0) @ w2.T * group["gamma2"][replica] + group["beta2"][replica]
    return np.maximum(y, 0).sum(1), z


def check_numpy(output):
    run("--features", 30, "--replicas", 2, "--save", "gamma,weights", "--bn-statistics", "dataset", "--output", output)
    with h5py.File(output) as f:
        group = f["layers/000"]
        for replica in range(2):
            weights, x, expected = teacher_of(replica)
            program.check(np.abs(group["teacher"][replica] - weights).max() < 1e-13, "the teacher's weights")
            y, z = source_of(group, replica, x)
            loss = ((y - expected) ** 2).mean()
            program.check(abs(f["loss"][replica] / loss - 1) < 1e-10 and loss > 0.01, f"loss {f['loss'][replica]}, numpy {loss}")
            program.check(abs(f["output_rmse"][replica] / np.sqrt(loss) - 1) < 1e-10, "output_rmse")
            program.check(z.min() > 0 and f["n_clipped"][replica] == 0 and (z.min(0) < 1e-3 * z.max(0)).all(),
                          "the shifts are not those of the inputs")
            mean = (x @ group["W1"][replica, :, :, 0, 0].T).mean(0)
            program.check(np.allclose(group["bn1_running_mean"][replica], mean, atol=1e-12), "bn1_running_mean")
    done = run(command=["evaluate", output])
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    with h5py.File(output) as f:
        program.check([row[5] for row in rows] == [f"{e:.4e}" for e in f["output_rmse"]], f"norma evaluate: {rows}")
        y, _ = source_of(f["layers/000"], 1, teacher_of(1, 2 * SAMPLES)[1])
        fresh = np.sqrt(((y - teacher_of(1, 2 * SAMPLES)[2]) ** 2).mean())
    done = run("--samples", 2 * SAMPLES, command=["evaluate", output])
    got = float(done.stdout.splitlines()[-1].split()[5])
    program.check(abs(got / fresh - 1) < 1e-3, f"twice the inputs: {got}, numpy {fresh}")


def check_cliff(output):
    """Losses fall where the features suffice, and masks move that to the least width of each seed."""
    run("--features", "20,35,36,50", "--replicas", 3, "--output", output)
    with h5py.File(output) as f:
        loss = f["loss"][...]
        program.check((loss[:2] > 1e-4).all() and (loss[2:] < 1e-20).all(), f"no cliff at 36: {loss}")
        program.check((f["structural_rank"][..., 0] == [[20] * 3, [35] * 3, [36] * 3, [36] * 3]).all(), "structural_rank")
        program.check((f["max_abs_gamma"][3, :, 0] < f["max_abs_gamma"][2, :, 0]).all(), "not of minimum norm")
    run("--keep-probability", 0.5, "--features", "30..60:6", "--replicas", 4, "--output", output)
    with h5py.File(output) as f:
        solved, least = f["loss"][...] < 1e-20, f["structural_least_width"][..., 0]
        program.check((f["structural_rank"][..., 0] == f["numerical_rank"][..., 0]).all(), "structural_rank")
        program.check((solved == (f["features"][...][:, None] >= least)).all(), f"solved {solved}, least widths {least}")
        program.check(solved.any() and not solved[1:].all(), "these seeds show too little")
        program.check(f["configuration"].asstr()[()].count('source-dist: "sparse-he-normal"') == 1, "the law is not stored")


def check_file(folder):
    output, other, stopped = (os.path.join(folder, n) for n in ("one.h5", "two.h5", "stopped.h5"))
    run("--features", "20,40", "--replicas", 2, "--group-size", 1, "--output", output)
    run("--features", "20,40", "--replicas", 2, "--group-size", 1, "--output", other, ranks=2)
    program.check(not differing(variables(output), variables(other)), "two ranks differ")
    long = ["--features", "30..36", "--replicas", 8, "--group-size", 1]
    program.stop_and_resume([*TEACHER, *long, "--output", stopped], 2, {})
    run(*long, "--output", other)
    program.check(not differing(variables(other), variables(stopped)), "a resumed run differs")


def check_student(folder, output):
    student = os.path.join(folder, "student.h5")
    weights, x, expected = teacher_of(0)
    weights += 0.05 * np.random.default_rng(2).standard_normal((D, D))
    with h5py.File(student, "w") as f:
        f["w"] = weights
        f["wide"] = np.ones((D, D + 1))
    run("--student", student + ":/w", "--output", output)
    dense = ((np.maximum(x @ weights.T, 0).sum(1) - expected) ** 2).mean()
    with h5py.File(output) as f:
        loss, loss_student = f["loss"][0], f["loss_student"][0]
        program.check(abs(loss_student / dense - 1) < 1e-10, f"loss of the student {loss_student}, numpy {dense}")
        program.check(abs(loss / dense - 1) < 1e-9, f"loss of its source {loss}, of the student {dense}")
    run(command=["evaluate", output])
    refused("the student has 6 outputs and 7 inputs", "--student", student + ":/wide", "--output", output)
    refused("a student was trained for one teacher", "--student", student + ":/w", "--replicas", 2)
    refused("--replica-offset: a student was trained for one teacher", "--student", student + ":/w", "--replica-offset", 2)


def main():
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        check_numpy(output)
        check_cliff(output)
        check_file(folder)
        check_student(folder, output)
        done = program.launch(["plan", *TEACHER, "--keep-probability", 0.5])
        program.check(done.returncode == 0 and "draws have too many zeros" in done.stdout, f"plan: {done.stdout} {done.stderr}")
        refused("not with --construction teacher", "--c-out", 3)
        refused("not with --construction teacher", "--dataset", "fashion-mnist")
        refused("have no range", "--bound", "interval-deep")
        refused("no law here drops entries", "--source-dist", "he-normal", "--keep-probability", 0.2)
        refused("give --width", command=["reconstruct", "--construction", "teacher"])
        refused("needs --construction teacher", "--width", 3, command=["reconstruct", "--c-out", 3, "--c-in", 3])
        refused("only --samples has a meaning", output, "--dataset", "fashion-mnist", command=["evaluate"])
    program.finish()


main()
