"""THESIS Table C.1: rank of Gram matrices of batches of images; reads the file of gram_rank.py, or that of run.yaml."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

PUBLISHED = [16, 32, 64, 128, 238.19, 275.37]  # Fashion-MNIST, N = 16 to 512
LINES = {"rank_gram_double": "Gram matrix, FP64", "rank_gram_single": "Gram matrix, FP32",
         "rank_gram_single_standardized": "the same, standardized pixels", "rank_samples": "images, FP64"}


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    picture, axes = plt.subplots(figsize=(4.2, 3.0))
    batches = np.array(result.option("batch"))
    if "rank_gram_single" in result:
        ranks = {label: result.file[name][()] for name, label in LINES.items()}
    else:
        found = np.array([np.ravel(result.get("numerical_rank", batch=n))[-1:] for n in batches])
        ranks = {LINES["rank_samples"]: found}
    for (label, values), color in zip(ranks.items(), ["tab:blue", "tab:orange", "tab:green", "tab:red"]):
        mean, error = figures.mean_and_error(values, axis=1)
        axes.errorbar(batches, mean, np.nan_to_num(1.96 * error), color=color, marker="o", markersize=3, label=label)
        spread = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.full(len(values), np.nan)
        print(f"{label:30} " + "  ".join(f"{n}: {m:.2f} +- {s:.2f}" for n, m, s in zip(batches, mean, spread)))
    axes.plot([16, 32, 64, 128, 256, 512], PUBLISHED, "kx", markersize=6, label="published")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set(xlabel="images in the batch", ylabel="rank")
    axes.legend(fontsize=7)
    figures.save(picture, given.output)


main()
