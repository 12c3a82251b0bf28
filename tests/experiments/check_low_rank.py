"""--construction low-rank: a target of low rank is met by two source pairs for each layer, with both rules and with
convolutions; what a smaller rank leaves out is what numpy finds; the ranks that pay; what is refused."""
import os

import h5py
import numpy as np

import program

RANKS = (3, 2)


def convolve(x, weight):
    """x [n, c, h, w], weight [out, c, kh, kw], with padding 1."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True)


def truncate(weight, rank):
    """The nearest weights of a rank, and the share that is left out."""
    u, s, v = np.linalg.svd(weight.reshape(len(weight), -1), full_matrices=False)
    near = (u[:, :rank] * s[:rank]) @ v[:rank]
    return near.reshape(weight.shape), np.sqrt((s[rank:] ** 2).sum() / (s ** 2).sum())


def forward(x, weights, biases):
    hidden = np.maximum(convolve(x, weights[0]) + biases[0][:, None, None], 0)
    return hidden.reshape(len(x), -1) @ weights[1].T + biases[1]


def reconstruct(target, images, output, *arguments, ranks=1):
    run = program.launch(["reconstruct", "--construction", "low-rank", "--target", target, "--dataset",
                          images + ":/images", "--samples", 12, "--output", output, "--force", "--seed", 3,
                          *arguments], ranks)
    program.check(run.returncode == 0, f"{arguments} failed: {run.stderr}")
    return run


def refused(message, *arguments):
    run = program.launch(["reconstruct", *arguments])
    program.check(run.returncode != 0 and message in run.stderr, f"{arguments}: no '{message}' in {run.stderr}")


with program.folder() as folder:
    random = np.random.default_rng(7)
    target, images, output = (os.path.join(folder, name) for name in ("target.h5", "images.h5", "out.h5"))
    x = random.uniform(-1, 1, (12, 2, 5, 4))
    weights = [truncate(random.standard_normal((6, 2, 3, 3)), RANKS[0])[0],
               truncate(random.standard_normal((5, 120)), RANKS[1])[0]]
    biases = [random.standard_normal(6), random.standard_normal(5)]
    with h5py.File(images, "w") as f:
        f["images"] = x
    program.write_target(target, [
        {"weight": weights[0], "bias": biases[0], "type": "conv2d", "activation": "relu", "padding": 1},
        {"weight": weights[1], "bias": biases[1], "type": "linear", "activation": "identity"}],
        input_shape=(2, 5, 4), input_min=-1.0, input_max=1.0)

    for rule, split, ranks in (("max", "second", 1), ("min", "first", 2), ("min", "second", 1)):
        run = reconstruct(target, images, output, "--width-rule", rule, "--kernel-split", split, ranks=ranks)
        with h5py.File(output) as f:
            got = f["target_rank"][0]
            program.check(list(got) == [3, 3, 2, 2], f"ranks {got}")
            program.check(list(f["break_even_rank"][0]) == [4, 4, 4, 4], f"break-even {f['break_even_rank'][0]}")
            program.check((f["truncation_error"][0] < 1e-14).all(), f"truncation {f['truncation_error'][0]}")
            program.check(f["output_max_error"][0] < 1e-11 and f["n_clipped"][0] == 0,
                          f"{rule} {split}: outputs are off by {f['output_max_error'][0]}")
            program.check((f["rmse"][0] < 100 * f["rmse_floor"][0]).all(), f"{rule}: rmse {f['rmse'][0]}")
            program.check(f["layers/000/gamma1"].shape[1] == 3 * 18 - (2 if rule == "min" else 0),
                          f"{rule}: {f['layers/000/gamma1'].shape[1]} features")
        program.check("rank 3 of 6" in run.stderr and "it pays (the largest rank that pays is 4)" in run.stderr,
                      f"no ranks in {run.stderr}")
    again = program.launch(["evaluate", output])
    program.check(again.returncode == 0, f"norma evaluate fails: {again.stderr}")

    reconstruct(target, images, output, "--target-rank", 1)
    near = [truncate(w, 1) for w in weights]
    expected = forward(x, [w for w, _ in near], biases) - forward(x, weights, biases)
    with h5py.File(output) as f:
        program.check(np.allclose(f["truncation_error"][0], np.repeat([e for _, e in near], 2), rtol=1e-9),
                      f"truncation {f['truncation_error'][0]}, numpy {near[0][1], near[1][1]}")
        program.check(np.isclose(f["output_rmse"][0], np.sqrt((expected ** 2).mean()), rtol=1e-8),
                      f"RMS {f['output_rmse'][0]}, numpy {np.sqrt((expected ** 2).mean())}")
        program.check((f["rmse"][0] < 1e-11).all(), f"the factors are off by {f['rmse'][0]}")
    run = program.launch(["plan", "reconstruct", "--construction", "low-rank", "--target", target, "--rank-tolerance", 0])
    program.check(run.returncode == 0 and "it does not pay" in run.stderr, f"plan: {run.stderr}")

    low_rank = ["--construction", "low-rank", "--output", output, "--force"]
    refused("rank 6 is larger than possible: 5 outputs and 120 inputs", *low_rank, "--target", target, "--target-rank", 6)
    refused("give --target; a random target has full rank", *low_rank, "--c-out", 3, "--c-in", 3)
    refused("not with --construction low-rank", *low_rank, "--target", target, "--residual", "inner")
    refused("needs --construction low-rank", "--c-out", 3, "--c-in", 3, "--rank-tolerance", 0.1)
    refused("'skips'", "--c-out", 3, "--c-in", 3, "--construction", "skips")
program.finish()
