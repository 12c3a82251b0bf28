#!/usr/bin/env python3
"""Prints the tables and draws them: python3 plot.py [FOLDER OF THE RESULTS [OUTPUT.png]]

Reads activations.h5 (run.yaml), activations_tanh.h5 and _sigmoid.h5 (run_epsilon.yaml), and _paper_tanh.h5
and _paper_sigmoid.h5 (one_layer.py); nothing else."""
import os
import sys

import h5py
import numpy as np


def names_of(variable):
    names = dict(zip(variable.attrs["flag_values"], variable.attrs["flag_meanings"].split()))
    return [names[v] for v in variable[...]]


def print_activations(path):
    """A row an activation and precision, worst over the layers."""
    with h5py.File(path) as f:
        if f.attrs["status"] != "complete":
            sys.exit(f"{path}: is not complete")
        activations, precisions = names_of(f["activation"]), names_of(f["precision"])
        shape = (len(activations), len(precisions), -1)
        value = {n: f[n][...].reshape(shape) for n in
                 ("output_max_error", "output_rmse", "accuracy_source", "accuracy_target", "n_decisions_differing",
                  "n_clipped", "digits_lost", "activation_epsilon", "shift_error_double", "shift_error_single")}
    print("| activation | precision | largest logit difference | RMS | accuracy source | target | decisions differing |"
          " clipped | digits lost | layer error allowed | cost of the shift |\n" + "| --- " * 11 + "|")
    for a, activation in enumerate(activations):
        for p, precision in enumerate(precisions):
            v = {n: x[a, p] for n, x in value.items()}
            epsilon = np.nanmax(v["activation_epsilon"])
            print(f"| {activation} | {precision} | {v['output_max_error'].max():.1e} | {v['output_rmse'].max():.1e} | "
                  f"{v['accuracy_source'][0]:.4f} | {v['accuracy_target'][0]:.4f} | {int(v['n_decisions_differing'][0])} | "
                  f"{int(v['n_clipped'][0])} | {np.nanmax(v['digits_lost']):.1f} | "
                  f"{'exact' if epsilon == 0 else f'{epsilon:.1e}'} | {np.nanmax(v['shift_error_' + precision]):.1e} |")


def read_epsilon(folder, name):
    with h5py.File(f"{folder}/activations_{name}.h5") as f, h5py.File(f"{folder}/activations_paper_{name}.h5") as paper:
        return {"epsilon": f["epsilon"][...], "measured": f["output_max_error"][...].reshape(-1),
                "floor": float(f["activation_epsilon_floor"][...].reshape(-1)[0]), "q1": float(paper["q1"][()]),
                "printed": paper["printed"][...], "corrected": paper["corrected"][...]}


def print_epsilon(name, d):
    print(f"\n{name}: Q1 = {d['q1']:.1f}, floor {d['floor']:.1e}\n\n| asked for | measured by Norma | corrected scale, "
          "numpy | printed scale, numpy |\n" + "| --- " * 4 + "|")
    for row in zip(d["epsilon"], d["measured"], d["corrected"], d["printed"]):
        print("| " + " | ".join(f"{v:.1e}" for v in row) + " |")


def draw(data, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(data), figsize=(11, 4))
    for ax, (name, d) in zip(axes, data.items()):
        ax.loglog(d["epsilon"], d["printed"], "s-", label="the paper's scale")
        ax.loglog(d["epsilon"], d["measured"], "o-", label="Norma's scale")
        ax.loglog(d["epsilon"], d["epsilon"], "k:", label="asked for")
        ax.axvline(d["floor"], color="0.7", label="floor")
        ax.set(title=name, xlabel="error asked for", ylabel="largest error of an output")
    axes[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/figures"
    print_activations(f"{folder}/activations.h5")
    data = {name: read_epsilon(folder, name) for name in ("tanh", "sigmoid")}
    for name, d in data.items():
        print_epsilon(name, d)
    draw(data, sys.argv[2] if len(sys.argv) > 2 else os.path.join(folder, "activations.png"))


if __name__ == "__main__":
    main()
