#!/usr/bin/env python3
"""Prints the table and draws it: python3 plot.py [FOLDER OF THE RESULTS [OUTPUT.png]]

Reads PREFIX_A.h5, PREFIX_sparse_A.h5 and PREFIX_single_A.h5 for the four activations A, which run.yaml,
run_sparse.yaml and run_single.yaml write; nothing else."""
import os
import sys

import h5py
import numpy as np

ACTIVATIONS = ("relu", "leaky-relu", "tanh", "sigmoid")
COLUMNS = ("he-normal", "he-uniform", "orthogonal", "sparse-he-normal", "he-normal, FP32")


def cells(path):
    """Of each cell: accuracies in percent, mean and half-width, largest error, decisions."""
    with h5py.File(path) as f:
        if f.attrs["status"] != "complete":
            sys.exit(f"{path}: is not complete")
        n = f["replica"].size
        value = {name: f[name][...].reshape(-1, n) for name in
                 ("accuracy_source", "accuracy_target", "output_max_error", "n_decisions_differing", "n_clipped")}
        value["condition_number"] = f["condition_number"][...].reshape(-1, n * f["layer"].size)
        ci = np.atleast_1d(f["accuracy_source_ci95"][...])
        for k in range(len(value["accuracy_source"])):
            yield {"target": 100 * value["accuracy_target"][k, 0], "source": 100 * value["accuracy_source"][k].mean(),
                   "ci": 100 * ci[k], "error": value["output_max_error"][k].max(),
                   "differing": int(value["n_decisions_differing"][k].sum()),
                   "clipped": int(value["n_clipped"][k].sum()),
                   "condition": value["condition_number"][k].max()}


def read(folder, prefix):
    """Rows of the activations whose three runs are all there."""
    names = {a: [f"{folder}/{prefix}{part}_{a}.h5" for part in ("", "_sparse", "_single")] for a in ACTIVATIONS}
    missing = [name for files in names.values() for name in files if not os.path.exists(name)]
    if missing:
        print("left out for want of a file:", ", ".join(missing), file=sys.stderr)
    return {a: [cell for name in files for cell in cells(name)] for a, files in names.items()
            if not set(files) & set(missing)}


def print_table(rows):
    print("| activation | target | " + " | ".join(COLUMNS) + " |\n" + "| --- " * (len(COLUMNS) + 2) + "|")
    for name, row in rows.items():
        print(f"| {name} | {row[0]['target']:.2f} | " +
              " | ".join(f"{c['source']:.2f} ± {c['ci']:.2f}" for c in row) + " |")
    for title, key, form in (("largest difference of an output", "error", "{:.1e}"),
                             ("differing decisions, of three replicas together", "differing", "{}"),
                             ("clipped pre-activations", "clipped", "{}"),
                             ("largest condition number of M", "condition", "{:.1e}")):
        print(f"\n{title}:\n\n| activation | " + " | ".join(COLUMNS) + " |\n" + "| --- " * (len(COLUMNS) + 1) + "|")
        for name, row in rows.items():
            print(f"| {name} | " + " | ".join(form.format(c[key]) for c in row) + " |")


def draw(rows, title, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    for k, column in enumerate(COLUMNS):
        x = np.arange(len(rows)) + 0.15 * (k - 2)
        left.errorbar(x, [r[k]["source"] - r[k]["target"] for r in rows.values()],
                      [r[k]["ci"] for r in rows.values()], fmt="o", label=column)
        right.semilogy(x, [r[k]["error"] for r in rows.values()], "o")
    left.axhline(0, color="0.7", zorder=0)
    left.set_ylabel("accuracy of source minus target (%)")
    right.set_ylabel("largest difference of an output")
    for axes in (left, right):
        axes.set_xticks(range(len(rows)), list(rows))
    left.legend(fontsize="small")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main(prefix="cnn24_table1", title="CNN24, Table 1, on Fashion-MNIST"):
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/figures"
    rows = read(folder, prefix)
    print_table(rows)
    draw(rows, title, sys.argv[2] if len(sys.argv) > 2 else os.path.join(folder, prefix + ".png"))


if __name__ == "__main__":
    main()
