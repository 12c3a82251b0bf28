"""Every folder of experiments/figures: its run.yaml and other configurations are understood and can be planned, and
its plot.py draws what a small version of the run gives: one configuration a subcommand, with the argument `all` each.
Exit 77 (skipped) without matplotlib."""
import contextlib
import glob
import importlib.util
import io
import os
import runpy
import sys
import traceback
import warnings

import h5py
import numpy as np

import program

FIGURES = os.path.join(program.SOURCE, "experiments", "figures")
# Options that make a run small, by subcommand and then by folder.
SMALL = {"align": {"channels": "6", "excess": "-4", "replicas": "2"},
         "chain": {"depth": "40", "replicas": "3", "width": "8,16"}, "gradient": {"depth": "30", "replicas": "2", "width": "8"}, "meanfield": {"depth": "40", "grid": "11"},
         "spectrum": {"replicas": "2"}}
SMALLER = {
    "check_closed_form": {"batch": "3,4"},
    "check_log_sigma_min": {"stride": "1", "record": "all"},
    "check_lyapunov": {"width": "16", "stride": "1"},
    "rank20_fig2": {"width": "16", "stride": "10", "record": "every:10"},
    "rank20_fig3b": {"width": "16"},
    "deep_success": {"replicas": "2", "starts": "3"},
    "double_descent": {"channels": "4", "overparam": "-0.5,0,0.5"},
    "rf_fig3": {"channels": "6", "features": "36,40", "replicas": "1"},
    "taps_law": {"channels": "2,4"},
    "thesis_fig2_1": {"width": "8"},
    "thesis_fig2_2": {"burn-in": "10", "record": "all"},
    "thesis_fig2_3": {"batch": "4,8"},
    "thesis_fig3_1": {"width": "16"},
    "thesis_fig3_2": {"width": "16"},
    "thesis_fig3_3": {"batch": "4"},
    "thesis_fig3_4": {"width": "16", "batch": "4,8"},
    "thesis_fig6_2": {"width": "8,16", "batch": "8", "input-distinct": "4"},
    "thesis_tablec1": {"width": "784", "batch": "4,8", "depth": "0"},
}


def instead(what, base):
    """Flags in place of inputs that a script of the folder makes first."""
    if what == "activations/run_epsilon.yaml":
        return ["--target", "experiments/data/fashion_cnn_w16_tanh.h5"]
    if not what.startswith("cnn24_table2/"):
        return []
    images = os.path.join(base, "images.h5")
    with h5py.File("experiments/data/fashion_pairs_w16_relu.h5") as f:
        shape = tuple(int(n) for n in f.attrs["input_shape"])
    with h5py.File(images, "w") as f:
        f["images"] = np.zeros((2,) + shape, np.uint8)
        f["labels"] = np.zeros(2, np.uint8)
    return ["--dataset", images + ":/images", "--samples", "2"]


def subcommand(path):
    """The first section of a configuration."""
    with open(path, encoding="utf-8") as f:
        return next(line.rstrip()[:-1] for line in f if line.rstrip().endswith(":") and line[0] not in "# ")


def check_plot(what, script, result, picture):
    """Runs a plot.py here, which saves loading matplotlib again, as its own process would see it."""
    said = io.StringIO()
    arguments, sys.argv = sys.argv, [script, result, "-o", picture]
    try:
        with contextlib.redirect_stdout(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of averages that a short chain lacks
            runpy.run_path(script, run_name="__main__")
    except (Exception, SystemExit):  # pylint: disable=broad-except
        program.check(False, f"{what}: plot.py fails: {traceback.format_exc()}")
        return
    finally:
        sys.argv = arguments
    program.check("picture:" in said.getvalue() and os.path.getsize(picture) > 0, f"{what}: plot.py draws a picture")
    os.remove(picture)


def check_folder(folder, base, tried):
    name = os.path.basename(folder)
    for part in "run.yaml", "plot.py", "README.md":
        program.check(os.path.exists(os.path.join(folder, part)), f"{name} has {part}")
    for path in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
        what = f"{name}/{os.path.basename(path)}"
        command = subcommand(path)
        if command in tried and not program.ALL:
            continue
        tried.add(command)
        done = program.launch([command, "--config", path, "--dry-run", "--quiet"]
                              + instead(what, base))
        program.check(done.returncode == 0, f"{what}: --dry-run ends with {done.returncode}: {done.stderr}")
        if command not in SMALL:
            continue
        result = os.path.join(base, what.replace("/", "_") + ".h5")
        options = {**SMALL[command], **SMALLER.get(name, {})}
        done = program.launch([command, "--config", path, "--output", result, "--quiet"]
                              + [f"--{key}={value}" for key, value in options.items()])
        program.check(done.returncode == 0, f"{what}: a small run ends with {done.returncode}: {done.stderr}")
        if done.returncode == 0:
            check_plot(what, os.path.join(folder, "plot.py"), result, os.path.join(base, "picture.png"))



def main():
    if importlib.util.find_spec("matplotlib") is None:
        print("skipped: no matplotlib")
        sys.exit(77)
    folders = sorted(glob.glob(os.path.join(FIGURES, "*", "")))
    program.check(len(folders) > 0, "there are figures")
    os.chdir(program.SOURCE)  # configurations name data from the top of the repository
    with program.folder() as base:
        os.environ["MPLCONFIGDIR"] = base
        tried = set()
        for folder in folders:
            if os.listdir(folder) not in ([], ["__pycache__"]):
                check_folder(folder.rstrip("/"), base, tried)
    program.finish()


main()
