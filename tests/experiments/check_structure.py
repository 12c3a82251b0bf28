"""Sparse sources: the structural rank that a run reports before it solves is the numerical rank of svd, and the least
width of each seed is the first one at which the target is met, with laws and with weights from a file; plan says it
too, and a failure names the width that would do."""
import os

import h5py
import numpy as np

import program

REPLICAS = 20
LAYER = ["--c-out", 4, "--c-in", 3, "--kernel", "1x2", "--source-dist", "sparse-he-normal", "--keep-probability", 0.5]


def reconstruct(output, *arguments, ranks=1, failing=False):
    run = program.launch(["reconstruct", *arguments, "--output", output, "--force"], ranks)
    program.check((run.returncode != 0) == failing, f"{arguments} ended with {run.returncode}: {run.stderr}")
    return run


def check_widths(output):
    """One file, all widths from below the rule's minimum: solved exactly from each seed's least width on."""
    reconstruct(output, *LAYER, "--seed", 5, "--replicas", REPLICAS, "--solver", "svd", "--features", "20..40")
    with h5py.File(output) as f:
        widths = f["features"][:]
        solved = f["rmse"][:, :, 0] < 1e-9
        rank, numerical = f["structural_rank"][:, :, 0], f["numerical_rank"][:, :, 0]
        least, missing = f["structural_least_width"][:, :, 0], f["structural_deficiency"][:, :, 0]
    program.check((rank == numerical).all(), f"structural ranks {rank[rank != numerical]} are not those of svd")
    program.check((missing == np.minimum(widths[:, None], 24) - rank).all(), f"deficiencies {missing}")
    program.check((least == least[0]).all(), "the least width of a seed depends on the width of the run")
    expected = [widths[solved[:, r]].min() if solved[:, r].any() else 99 for r in range(REPLICAS)]
    got = np.where(least[0] > 40, 99, least[0])
    program.check((got == expected).all(), f"least widths {got}, first solved {expected}")
    program.check((solved == (widths[:, None] >= least[0])).all(), "a wider layer is not solved")
    program.check(len(set(expected)) > 3, "these seeds show too little")
    return least[0]


def check_plan(least):
    run = program.launch(["plan", "reconstruct", *LAYER, "--seed", 5, "--replicas", REPLICAS])
    short = least[least > 24]
    line = f"# layer 0: {len(short)} of {REPLICAS} draws have too many zeros"
    program.check(line in run.stdout and f"need {short.min()} to {short.max()} features" in run.stdout,
                  f"'{line}' is not in {run.stdout}")


def check_min_rule(output):
    """Here lost channels decide: full rank alone does not make a solution."""
    layer = [*LAYER, "--width-rule", "min", "--seed"]
    n_lost = 0
    reconstruct(output, *layer, "1..6", "--excess", 40, ranks=2)
    with h5py.File(output) as f:
        widths = f["structural_least_width"][:, 0, 0]
    for seed in program.some((4, 3, 1, 2, 5, 6), 2):
        least = int(widths[seed - 1])
        run = reconstruct(output, *layer, seed, "--features", least)
        program.check("structural" not in run.stderr, f"a warning at the least width: {run.stderr}")
        if least > 21:
            run = reconstruct(output, *layer, seed, "--features", least - 1, failing=True)
            program.check(f"this seed needs {least} features: " in run.stderr, f"no width in {run.stderr}")
            n_lost += "no solution scales" in run.stderr
    program.check(n_lost > 0, "no seed here loses a channel")


def check_file(folder, output):
    random = np.random.default_rng(4)
    w1, w2 = random.standard_normal((24, 3)), random.standard_normal((4, 24, 1, 2))
    w1[:, 1] *= random.random(24) < 0.2
    source, target = os.path.join(folder, "source.h5"), os.path.join(folder, "target.h5")
    program.write_source(source, [(w1[:, :, None, None], w2)])
    program.write_target(target, [{"weight": random.standard_normal((4, 3, 1, 2)), "type": "conv2d",
                                   "activation": "identity", "padding": 0}],
                         input_shape=(3, 4, 4), input_min=-1.0, input_max=1.0)
    reconstruct(output, "--target", target, "--source", source, "--solver", "svd")
    features = np.einsum("iJp,Jj->ijpJ", w2[:, :, 0], w1).reshape(24, 24)
    with h5py.File(output) as f:
        got = f["structural_rank"][0, 0]
        program.check(got == np.linalg.matrix_rank(features) and got < 24, f"structural rank {got} of a file")
        program.check(f["structural_least_width"][0, 0] == -1, "a file has no more features")


with program.folder() as folder:
    output = os.path.join(folder, "out.h5")
    check_plan(check_widths(output))
    check_min_rule(output)
    check_file(folder, output)
    reconstruct(output, "--c-out", 2, "--c-in", 2)
    with h5py.File(output) as f:
        program.check("structural_rank" not in f, "a dense law needs no structural rank")
program.finish()
