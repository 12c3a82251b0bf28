"""RF Fig. 2 a, c, d: the error of L-BFGS against the number of equations, without and with a preconditioner, in both
precisions, beside that of a direct solver.

    python3 plot.py [FOLDER OF THE RESULTS] [-o PICTURE.png]

It reads rf_fig2_C_LAW.h5 and rf_fig2_direct_C_LAW.h5 in that folder, by default build/figures."""
import argparse
import glob
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

LAWS = ["he-normal", "he-uniform", "orthogonal", "er-normal", "er-sign", "id-cond", "ortho-cond"]
PANELS = [("lbfgs", "single", "(a) L-BFGS, FP32"), ("lbfgs", "double", "(a) L-BFGS, FP64"),
          ("lbfgs-svd", "single", "(c) preconditioned, FP32"), ("lbfgs-svd", "double", "(c) preconditioned, FP64"),
          ("lbfgs-solved", "single", "(d) from the solution, FP32"), ("lbfgs-solved", "double", "(d) from the solution, FP64"),
          ("direct", "double", "Norma's solvers, FP64")]


def read(folder):
    """{(solver, precision, law, excess): {n: errors of the draws}}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "rf_fig2_*.h5"))):
        result = figures.Result(path)
        law = result.option("source-dist")[0]
        n = int(np.nanmax(result.get("n_rows")))
        direct = os.path.basename(path).startswith("rf_fig2_direct_")
        for solver in ["direct"] if direct else result.option("solver"):
            for precision in ["double"] if direct else result.option("solver-precision"):
                for excess in result.option("excess"):
                    errors = result.get("rmse", excess=excess, **({} if direct else
                                        {"solver": solver, "solver_precision": precision}))
                    found.setdefault((solver, precision, law, excess), {})[n] = np.ravel(errors)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="build/figures")
    parser.add_argument("-o", "--output")
    given = parser.parse_args()
    plt.rcParams.update(figures.TEXT)
    found = read(given.folder)
    if not found:
        sys.exit(f"{given.folder}: holds no rf_fig2_C_LAW.h5")
    picture, grid = plt.subplots(2, 4, figsize=(12, 5.4), sharex=True, sharey=True)
    for (solver, precision, title), axes in zip(PANELS, grid.T.ravel()):
        axes.set(xscale="log", yscale="log", title=title, ylim=(3e-17, 1))  # id-cond in FP64 is exact: below
        for law, color in zip(LAWS, plt.rcParams["axes.prop_cycle"].by_key()["color"]):
            for excess, style in ((0, "-"), (10, "--"), (100, ":")):
                sizes = dict(sorted(found.get((solver, precision, law, excess), {}).items()))
                if sizes:
                    axes.plot(list(sizes), [np.median(e) for e in sizes.values()], style, color=color, marker="o",
                              markersize=2.5, linewidth=0.9, label=law if excess == 0 else None)
                    print(f"{title}, {law} + {excess}: " + "  ".join(
                        f"{n}: {np.median(e):.2g} ({np.min(e):.2g}, {np.max(e):.2g})" for n, e in sizes.items()))
    grid[0][3].legend(fontsize=6)
    grid[1][3].axis("off")
    for axes in grid[1][:3]:
        axes.set_xlabel("equations n")
    grid[0][3].set_xlabel("equations n")
    for axes in grid[:, 0]:
        axes.set_ylabel("root mean square error")
    figures.save(picture, given.output or os.path.join(given.folder, "rf_fig2.png"))


main()
