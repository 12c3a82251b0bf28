#!/usr/bin/env python3
"""Folders of PNG, PGM and PPM files as data sets: pixels, labels and order as the files say, read by Norma as such;
refusals by the name of the file."""
import contextlib
import io
import os
import shutil
import struct
import sys
import zlib

import h5py
import numpy as np

import program

try:
    from PIL import Image
except ImportError:
    print("skipped: Pillow (python3-pil) is not installed")
    sys.exit(77)

sys.path.insert(0, os.path.join(program.SOURCE, "experiments", "tools"))
import image_folder  # noqa: E402
import target_check  # noqa: E402

RNG = np.random.default_rng(12)


def png(path, pixels, depth=8):
    """A PNG file of gray [rows, columns] or RGB(A) [rows, columns, 3 or 4] pixels, by the standard's own words."""
    kind = {2: 0, 3: 2}[pixels.ndim] if pixels.ndim == 2 or pixels.shape[2] == 3 else 6
    rows = pixels.astype(">u2" if depth == 16 else np.uint8)
    data = b"".join(b"\0" + row.tobytes() for row in rows)

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], depth, kind, 0, 0, 0)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def pgm(path, pixels, plain=False):
    """A PGM file of 8 bits, in binary or in text."""
    with open(path, "wb") as f:
        f.write(b"P%d\n# a comment\n%d %d\n255\n" % (2 if plain else 5, *pixels.shape[::-1]))
        f.write(b" ".join(b"%d" % v for v in pixels.reshape(-1)) if plain else pixels.tobytes())


def gray(shape=(7, 5)):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def script(*arguments):
    """Runs `python3 image_folder.py ARGUMENTS` and returns its output, or its message of refusal."""
    out = io.StringIO()
    before, sys.argv = sys.argv, ["image_folder.py", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out):
            image_folder.main()
    except SystemExit as left:
        return str(left.code)
    finally:
        sys.argv = before
    return out.getvalue()


def classes(base):
    """Three classes of gray images in two formats: order, labels, and the outputs of a network that Norma runs on them."""
    folder, data, target, result = (os.path.join(base, n) for n in ("gray", "gray.h5", "net.h5", "result.h5"))
    kept = {}
    for name, count in (("cat", 3), ("ant", 2), ("bee", 1)):
        os.makedirs(os.path.join(folder, name))
        for k in range(count):
            file = os.path.join(name, f"{k}.{'PNG' if k == 1 else 'pgm'}")
            kept[file] = gray()
            (png if k == 1 else pgm)(os.path.join(folder, file), kept[file], **({} if k == 1 else {"plain": k == 2}))
    os.makedirs(os.path.join(folder, "empty"))
    open(os.path.join(folder, "cat", "notes.txt"), "w").close()
    printed = script(folder, "--output", data)
    program.check("6 images of 1 x 7 x 5 (channels, rows, columns), 3 classes" in printed, printed)
    order = ["ant/0.pgm", "bee/0.pgm", "cat/0.pgm", "ant/1.PNG", "cat/1.PNG", "cat/2.pgm"]
    with h5py.File(data) as f:
        program.check(list(f["files"].asstr()) == order, f"order {list(f['files'].asstr())}")
        program.check(f["labels"][...].tolist() == [0, 1, 2, 0, 2, 2], f"labels {f['labels'][...]}")
        program.check(list(f["labels"].attrs["classes"]) == ["ant", "bee", "cat"], "names of the classes")
        program.check(f["images"].dtype == np.uint8 and
                      np.array_equal(f["images"][...], np.stack([kept[n] for n in order])[:, None]), "pixels")
        x = f["images"][...] / 255.0
    layers = [dict(weight=RNG.standard_normal((2, 1, 3, 3)), type="conv2d", activation="relu", stride=1, padding=1),
              dict(weight=RNG.standard_normal((3, 70)), type="linear", activation="identity")]
    program.write_target(target, layers, input_shape=np.array([1, 7, 5]), input_scale=1 / 255)
    common = ["--target", target, "--dataset", data + ":/images", "--samples", 6]
    done = program.launch(["reconstruct", *common, "--seed", 2, "--output", result], ranks=2)
    program.check(done.returncode == 0, done.stderr)
    accuracy = np.mean(target_check.forward(target, x).argmax(1) == [0, 1, 2, 0, 2, 2])
    with h5py.File(result) as f:
        program.check(abs(float(f["accuracy_target"][0]) - accuracy) < 1e-12, f"accuracy {f['accuracy_target'][...]}")
    script(folder, "--output", data, "--per-class", 1, "--channels", 3)
    with h5py.File(data) as f:
        program.check(f["labels"][...].tolist() == [0, 1, 2] and f["images"].shape == (3, 3, 7, 5), "one of each class")
        program.check(np.array_equal(f["images"][1, 2], kept["bee/0.pgm"]), "gray in three channels")


def colours(base):
    """RGB, gray among it, an opaque fourth channel; 16 bits; images without classes."""
    folder, data = os.path.join(base, "colours"), os.path.join(base, "colours.h5")
    os.makedirs(folder)
    first, second = gray((4, 6, 3)), gray((4, 6))
    png(os.path.join(folder, "a.png"), first)
    png(os.path.join(folder, "b.png"), second)
    png(os.path.join(folder, "c.png"), np.dstack([first, np.full((4, 6), 255)]))
    Image.fromarray(first).save(os.path.join(folder, "d.ppm"))
    printed = script(folder, "--output", data)
    program.check("4 images of 3 x 4 x 6" in printed and "no classes" in printed, printed)
    expected = first.transpose(2, 0, 1)
    with h5py.File(data) as f:
        images = f["images"][...]
        program.check("labels" not in f, "labels that nobody gave")
    for k in (0, 2, 3):
        program.check(np.array_equal(images[k], expected), f"pixels of image {k}")
    program.check(np.array_equal(images[1], np.repeat(second[None], 3, 0)), "gray among colours")
    deep = os.path.join(base, "deep")
    os.makedirs(deep)
    pixels = RNG.integers(0, 65536, (3, 4))
    png(os.path.join(deep, "a.png"), pixels, 16)
    script(deep, "--output", data)
    with h5py.File(data) as f:
        program.check(f["images"].dtype == np.uint16 and np.array_equal(f["images"][0, 0], pixels), "16 bits")


def refusals(base):
    folder, data = os.path.join(base, "bad"), os.path.join(base, "bad.h5")

    def refused(expected, *more):
        printed = script(folder, "--output", data, *more)
        program.check(expected in printed, f"'{printed}' lacks '{expected}'")
        program.check(not [n for n in os.listdir(base) if n.startswith("bad.h5")], f"{expected}: a file is there")

    refused("bad: is not a folder")
    os.makedirs(os.path.join(folder, "one"))
    refused("holds no images (.png, .pgm, .ppm)")
    pgm(os.path.join(folder, "one", "a.pgm"), gray())
    refused("--per-class 0", "--per-class", 0)
    pgm(os.path.join(folder, "b.pgm"), gray())
    refused("holds images beside the subfolder one")
    os.remove(os.path.join(folder, "b.pgm"))
    for expected, pixels, more in (("b.png: has 7 x 6 pixels of 8 bits, but", gray((7, 6)), ()),
                                   ("b.png: is coloured", gray((7, 5, 3)), ("--channels", 1)),
                                   ("b.png: has pixels that are transparent", gray((7, 5, 4)), ())):
        png(os.path.join(folder, "one", "b.png"), pixels)
        refused(expected, *more)
    with open(os.path.join(folder, "one", "b.png"), "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n and then nothing")
    refused("b.png: cannot be read as an image")
    shutil.rmtree(folder)


def main():
    with program.folder() as base:
        classes(base)
        colours(base)
        refusals(base)
    program.finish()


if __name__ == "__main__":
    main()
