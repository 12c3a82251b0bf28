#!/usr/bin/env python3
"""Against ONNX Runtime: a MobileNetV3 of an npm package as a target file, run by Norma in FP64; source networks as ONNX
models, beside Norma's own runs in FP32."""
import os
import subprocess
import sys

import h5py
import numpy as np

import onnx_runtime
import program

try:
    import onnx  # noqa: F401
except ImportError:
    onnx_runtime.skip("ONNX (python3-onnx) is not installed")

TOOLS = os.path.join(program.SOURCE, "experiments", "tools")
MODEL = os.path.join("node_modules", "@gutenye", "ocr-models", "assets", "ch_ppocr_mobile_v2.0_cls_infer.onnx")
SHAPE = (3, 48, 192)
IMAGES = 20


def tool(name, *arguments):
    done = subprocess.run([sys.executable, os.path.join(TOOLS, name), *map(str, arguments)], capture_output=True,
                          text=True, check=False)
    print(done.stdout, end="")
    program.check(done.returncode == 0, f"{name}: {done.stderr}")


def norma(*arguments, ranks=1):
    done = program.launch(arguments, ranks)
    program.check(done.returncode == 0, f"{arguments}: {done.stderr}")


def images(path):
    """Bright strokes on dark ground, and the other way round: pixels [n, 3, 48, 192]."""
    rng = np.random.default_rng(6)
    pixels = np.empty((IMAGES, *SHAPE), np.uint8)
    rows, columns = np.mgrid[:SHAPE[1], :SHAPE[2]]
    for image in pixels:
        lines = sum(np.exp(-((columns - a - b * rows) / 2.0) ** 2) for a, b in zip(rng.uniform(0, 190, 12),
                                                                                   rng.normal(0, 0.5, 12)))
        ground, ink = rng.uniform(0, 255, (2, 3, 1, 1))
        image[...] = np.clip(ground + (ink - ground) * np.minimum(lines, 1) + rng.normal(0, 4, SHAPE), 0, 255)
    with h5py.File(path, "w") as f:
        f["images"] = pixels
    return pixels


def outputs(folder, label, target, data, *options):
    """Norma's outputs of target and source, and the result."""
    out, written = (os.path.join(folder, f"{label}{end}") for end in (".h5", ".outputs.h5"))
    norma("reconstruct", "--target", target, "--dataset", data, "--samples", IMAGES, "--seed", 11, "--save",
          "gamma,weights", "--output", out, *options)
    norma("evaluate", out, "--output", written)
    with h5py.File(written) as f:
        return out, f["outputs_target"][...], f["outputs_source"][0]


def source(folder, packages, label, out, x, target_outputs, source_outputs):
    """ONNX Runtime on the source network: Norma's FP32 run to the rounding of FP32, which that run's distance from the
    target shows. Both sum in other orders."""
    model = os.path.join(folder, f"{label}.onnx")
    tool("source_onnx.py", out, "--output", model, "--samples", 2)
    found = onnx_runtime.run(packages, model, x, folder)
    largest = np.abs(target_outputs).max()
    rounding = np.abs(source_outputs - target_outputs).max()
    difference = np.abs(found - source_outputs).max()
    print(f"{label}: ONNX Runtime and Norma's FP32 run of the source differ by {difference:.2e}, that run and the target "
          f"by {rounding:.2e}; the largest output is {largest:.3g}")
    program.check(0 < rounding < 1e-2 * largest and difference < 10 * rounding, f"{label}: {difference} {rounding}")


def classifier(folder, packages):
    """The whole target in Norma; a source pair in the place of its first layer."""
    model, target, data = os.path.join(packages, MODEL), os.path.join(folder, "target.h5"), os.path.join(folder, "data.h5")
    x = images(data) * np.float32(2 / 255) - np.float32(1)
    tool("onnx_target.py", model, "--input-shape", ",".join(map(str, SHAPE)), "--input-scale", 2 / 255,
         "--input-offset=-1", "--input-range=-1,1", "--output", target)
    with h5py.File(target) as f:
        kinds = [f["layers"][n].attrs["type"] for n in sorted(f["layers"])]
    chosen = [k for k, kind in enumerate(kinds) if kind == "conv2d"][:1]
    out, of_target, of_source = outputs(folder, "cls", target, data + ":/images", "--precision", "single", "--layers",
                                        ",".join(map(str, chosen)))
    expected = onnx_runtime.run(packages, model, x, folder)
    difference = np.abs(of_target - expected).max()
    print(f"{kinds.count('conv2d')} convolutions: Norma and ONNX Runtime differ by {difference:.2e} in {IMAGES} images")
    program.check(kinds.count("conv2d") == 53 and difference < 1e-5, f"cls: {difference}")
    program.check(np.ptp(expected[:, 0]) > 0.1, "the outputs are all alike")
    source(folder, packages, "cls", out, x, of_target, of_source)


def chain(folder, packages):
    """A small trained network, whole."""
    target = os.path.join(program.SOURCE, "experiments", "data", "fashion_cnn_w16_relu.h5")
    out, of_target, of_source = outputs(folder, "chain", target, "fashion-mnist", "--precision", "single")
    sys.path.insert(0, TOOLS)
    import datasets
    from source_pair import inputs_of
    with h5py.File(target) as f:
        x = inputs_of(datasets.load("fashion-mnist", IMAGES)[0], dict(f.attrs))
    source(folder, packages, "chain", out, x, of_target, of_source)


def main():
    packages = onnx_runtime.install()
    with program.folder() as folder:
        classifier(folder, packages)
        chain(folder, packages)
    program.finish()


if __name__ == "__main__":
    main()
