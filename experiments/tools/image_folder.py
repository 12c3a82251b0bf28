#!/usr/bin/env python3
"""Writes a folder of PNG, PGM or PPM files as an HDF5 file that `norma --dataset FILE.h5:/images` takes.

    python3 image_folder.py photos --output photos.h5
    norma reconstruct --target net.h5 --dataset photos.h5:/images --samples 100 --output result.h5

Images in subfolders have the number of their subfolder, in alphabetical order, as label; images that stand in the
folder itself have none. All images have one size. `images` [image, channel, row, column] holds 8 bits a pixel, or 16
where all files are gray with 16; `labels` has the names of the subfolders in its attribute `classes`, and `files` the
path of each image. Classes take turns: with as many images in each, the first N images have all classes alike.
"""
import argparse
import os
import sys

import h5py
import numpy as np
from PIL import Image, UnidentifiedImageError

ENDINGS = (".png", ".pgm", ".ppm")
# Modes of Pillow without transparency: how many channels, and to what a pixel is converted.
MODES = {"1": (1, "L"), "L": (1, "L"), "P": (3, "RGB"), "RGB": (3, "RGB"), "I;16": (1, None), "I;16B": (1, None),
         "I": (1, None)}


class Refused(ValueError):
    """The folder holds something that makes no data set."""


def find(folder):
    """(path, label or None) of all images, classes in turn, and the names of the classes."""
    if not os.path.isdir(folder):
        raise Refused(f"{folder}: is not a folder")
    classes = sorted(n for n in os.listdir(folder) if os.path.isdir(os.path.join(folder, n)) and n[0] != ".")
    found = {name: images_in(os.path.join(folder, name)) for name in classes}
    classes = [name for name in classes if found[name]]
    here = images_in(folder)
    if here and classes:
        raise Refused(f"{folder}: holds images beside the subfolder {classes[0]}; the labels of these are unknown")
    if not here and not classes:
        raise Refused(f"{folder}: holds no images ({', '.join(ENDINGS)}), nor does a subfolder")
    if here:
        return [(path, None) for path in here], []
    ranked = [(k, label, path) for label, name in enumerate(classes) for k, path in enumerate(found[name])]
    return [(path, label) for _, label, path in sorted(ranked)], classes


def images_in(folder):
    """Paths of the image files in a folder, in alphabetical order."""
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder))
            if n.lower().endswith(ENDINGS) and os.path.isfile(os.path.join(folder, n))]


def read(path):
    """The pixels [channels, rows, columns] in 8 or 16 bits."""
    try:
        with Image.open(path) as image:
            image.load()
            if "A" in image.mode or "transparency" in image.info:
                alpha = image.convert("RGBA").getchannel("A")
                if alpha.getextrema()[0] < 255:
                    raise Refused(f"{path}: has pixels that are transparent; lay it on a ground first")
                image = image.convert("L" if image.mode.startswith("L") else "RGB")
            if image.mode not in MODES:
                raise Refused(f"{path}: has pixels of the mode {image.mode}; gray or RGB is expected")
            mode = MODES[image.mode][1]
            pixels = np.asarray(image if mode is None else image.convert(mode))
    except (OSError, SyntaxError, UnidentifiedImageError) as error:
        raise Refused(f"{path}: cannot be read as an image: {error}") from error
    if pixels.dtype != np.uint8:
        if pixels.min() < 0 or pixels.max() > 65535:
            raise Refused(f"{path}: holds pixels outside of 16 bits")
        pixels = pixels.astype(np.uint16)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def fitted(pixels, first, channels, path, path_first):
    """The pixels with this number of channels; refused where size or depth are not those of the first image."""
    if pixels.shape[1:] != first.shape[1:] or pixels.dtype != first.dtype:
        def text(p):
            return f"{p.shape[1]} x {p.shape[2]} pixels of {8 * p.itemsize} bits"
        raise Refused(f"{path}: has {text(pixels)}, but {path_first} has {text(first)}; images of one size are expected")
    if len(pixels) == channels:
        return pixels
    if channels == 3:
        return np.repeat(pixels, 3, 0)
    if np.array_equal(pixels[0], pixels[1]) and np.array_equal(pixels[0], pixels[2]):
        return pixels[:1]
    raise Refused(f"{path}: is coloured; --channels 3 keeps the colours")


def write(folder, output, channels=None, per_class=None):
    """Writes the file and returns the shape of its images and the number of classes. Without `channels` there are 3
    where an image of the folder has them, else 1."""
    listed, classes = find(folder)
    if per_class:
        counts = {}
        kept = []
        for path, label in listed:
            counts[label] = counts.get(label, 0) + 1
            if counts[label] <= per_class:
                kept.append((path, label))
        listed = kept
    if channels is None:
        channels = max(len(read(path)) for path, _ in listed)
    first = read(listed[0][0])
    partial = f"{output}.partial"
    try:
        with h5py.File(partial, "w") as f:
            shape = (len(listed), channels, *first.shape[1:])
            images = f.create_dataset("images", shape, first.dtype)
            for number, (path, _) in enumerate(listed):
                images[number] = fitted(read(path), first, channels, path, listed[0][0])
            f["files"] = [os.path.relpath(path, folder) for path, _ in listed]
            if classes:
                f["labels"] = np.array([label for _, label in listed], np.int32)
                f["labels"].attrs["classes"] = classes
        os.replace(partial, output)
    finally:
        if os.path.exists(partial):
            os.remove(partial)
    return shape, len(classes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="images, or subfolders of images, one a class")
    parser.add_argument("--output", required=True, metavar="FILE.h5")
    parser.add_argument("--channels", type=int, choices=(1, 3), help="default: 3 where an image has colours")
    parser.add_argument("--per-class", type=int, metavar="N", help="the first N images of each subfolder")
    args = parser.parse_args()
    try:
        if args.per_class is not None and args.per_class < 1:
            raise Refused(f"--per-class {args.per_class}: a number from 1 on is expected")
        shape, n_classes = write(args.folder, args.output, args.channels, args.per_class)
    except (Refused, OSError) as error:
        sys.exit(f"image_folder: {error}")
    print(f"{args.output}: {shape[0]} images of {shape[1]} x {shape[2]} x {shape[3]} (channels, rows, columns), "
          f"{n_classes or 'no'} classes")


if __name__ == "__main__":
    main()
