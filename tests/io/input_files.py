"""Writes the input files that the tests of io/input/target, io/input/source and io/input/dataset read.

    python3 input_files.py FOLDER

Good files carry what a reader should find, computed here with numpy. cases.txt lists the bad ones,
a line each: kind (target, source or dataset), name to read, text that the message must contain.
"""
import bz2
import gzip
import io
import lzma
import os
import pickle
import shutil
import struct
import sys
import tarfile

import h5py
import numpy as np

import graph_files
import stored_files

folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)  # of an earlier list of cases
os.makedirs(folder)
random = np.random.default_rng(5)
cases = []


def path(name):
    return os.path.join(folder, name)


# --- target networks ---------------------------------------------------------------------------

def add_layer(file, number, weight, kind="conv2d", activation="relu", **attributes):
    group = file.create_group("layers/%03d" % number)
    group["weight"] = weight
    group.attrs["type"] = kind
    group.attrs["activation"] = activation
    for name, value in attributes.items():
        group.attrs[name] = value
    return group


def add_batch_norm(group, c2):
    group["bn_gamma"] = random.normal(size=c2).astype(np.float32)
    group["bn_beta"] = random.normal(size=c2)
    group["bn_mean"] = random.normal(size=c2).astype(">f8")
    group["bn_var"] = random.uniform(0.5, 2, size=c2).astype(np.longdouble)


def set_fortran_text(group, name, text, length):
    """As Fortran programs store texts: of fixed length, padded with blanks."""
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(length)
    kind.set_strpad(h5py.h5t.STR_SPACEPAD)
    attribute = h5py.h5a.create(group.id, name.encode(), kind, h5py.h5s.create(h5py.h5s.SCALAR))
    attribute.write(np.array(text.ljust(length).encode(), dtype="S%d" % length), mtype=kind)


def write_network(name, change=None):
    """A network of three layers with numbers of many types; `change` spoils it."""
    with h5py.File(path(name), "w") as f:
        f.attrs["input_shape"] = np.array([2, 6, 5])
        f.attrs["input_scale"] = [0.5, 0.25]
        f.attrs["input_offset"] = np.float32(-1)
        f.attrs["input_min"] = -1
        f.attrs["input_max"] = 1.5
        f.attrs["dataset"] = np.bytes_("none of ours")  # of fixed length
        f.attrs["free_text"] = "for people"
        a = add_layer(f, 0, random.normal(size=(4, 2, 3, 3)).astype(np.float16), stride=[1, 2],
                      padding=1, pool="max2", bn_eps=1e-3)
        a["bias"] = random.integers(-3, 3, size=4).astype(">i2")
        for text in ("type", "Conv2D"), ("activation", "ReLU"):
            del a.attrs[text[0]]
            set_fortran_text(a, *text, 80)
        add_batch_norm(a, 4)
        b = add_layer(f, 1, random.normal(size=(3, 4, 1, 2)).astype(">f4"),
                      activation="LeakyReLU", negative_slope=0.2, pool="global-average",
                      padding=np.array([0, 1], dtype="u1"))
        add_batch_norm(b, 3)
        c = add_layer(f, 2, random.integers(-9, 9, size=(2, 3)), kind="Dense",
                      activation="linear", pool="none")
        c["bias"] = random.normal(size=2)
        for number, group in enumerate((a, b, c)):
            weight = group["weight"][...].astype(float)
            bias = group["bias"][...].astype(float) if "bias" in group else np.zeros(len(weight))
            if "bn_var" in group:
                scale = group["bn_gamma"][...].astype(float) / np.sqrt(
                    group["bn_var"][...].astype(float) + group.attrs.get("bn_eps", 1e-5))
                weight = weight * scale.reshape((-1,) + (1,) * (weight.ndim - 1))
                bias = group["bn_beta"][...] + scale * (bias - group["bn_mean"][...])
            f["expected/%03d/weight" % number] = weight
            f["expected/%03d/bias" % number] = bias
        if change:
            change(f)


write_network("network.h5")


def bad_target(text, change):
    name = "bad_target_%02d.h5" % len(cases)
    write_network(name, change)
    cases.append(("target", path(name), text))


def replace(f, name, value):
    del f[name]
    f[name] = value


def poke(index, value):
    def change(f):
        weight = f["layers/001/weight"][...].astype(float)
        weight[index] = value
        replace(f, "layers/001/weight", weight)
    return change


def set_attribute(where, name, value):
    def change(f):
        f[where].attrs[name] = value
    return change


def remove_attribute(where, name):
    def change(f):
        del f[where].attrs[name]
    return change


def remove(name):
    def change(f):
        del f[name]
    return change


def put(name, value):
    def change(f):
        if name in f:
            del f[name]
        f[name] = value
    return change


bad_target("/layers/001: is missing (the next layer is 002)", remove("layers/001"))
bad_target("/layers/000: is missing", remove("layers/000"))
bad_target("unexpected member 'extra'", put("layers/extra", 1.0))
bad_target("there is no group /layers", remove("layers"))
bad_target("unknown layer type 'conv3d'", set_attribute("layers/001", "type", "conv3d"))
bad_target("attribute type is missing", remove_attribute("layers/001", "type"))
bad_target("did you mean 'relu'?", set_attribute("layers/000", "activation", "rellu"))
bad_target("attribute activation is missing", remove_attribute("layers/000", "activation"))
bad_target("did you mean 'activation'?", set_attribute("layers/000", "activaton", "relu"))
bad_target("attribute activation is not a text", set_attribute("layers/000", "activation", 3))
bad_target("unknown pool 'max3'; did you mean 'max2'?",
           set_attribute("layers/000", "pool", "max3"))
bad_target("layer 000 expects 4 input channels but gets 2", set_attribute("layers/000", "groups", 2))
bad_target("groups is 3, which does not divide the 4 output channels", set_attribute("layers/000", "groups", 3))
bad_target("attribute ceil_mode is not supported", set_attribute("layers/000", "ceil_mode", 1))
bad_target("attribute stride is 0", set_attribute("layers/000", "stride", 0))
bad_target("attribute padding is 1.5", set_attribute("layers/000", "padding", 1.5))
bad_target("attribute padding holds 3 values",
           set_attribute("layers/000", "padding", [1, 1, 1]))
bad_target("attribute stride is string", set_attribute("layers/000", "stride", "1"))
bad_target("attribute negative_slope is 2", set_attribute("layers/001", "negative_slope", 2.0))
bad_target("a linear layer has no stride", set_attribute("layers/002", "stride", 2))
bad_target("/layers/001/weight: value nan at [2, 1, 0, 1]", poke((2, 1, 0, 1), np.nan))
bad_target("/layers/001/weight: value inf at [0, 0, 0, 0]", poke((0, 0, 0, 0), np.inf))
bad_target("variance -0.5 of channel 2", put("layers/001/bn_var", [1, 1, -0.5]))
bad_target("channel 1 overflows when folded", put("layers/001/bn_gamma", [1, 1e308, 1]))
bad_target("attribute bn_eps is -1", set_attribute("layers/000", "bn_eps", -1.0))
bad_target("/layers/001/bn_mean: there is no such dataset", remove("layers/001/bn_mean"))
bad_target("unknown member of a layer 'bn_gama'; did you mean 'bn_gamma'? Known: weight",
           put("layers/001/bn_gama", [1, 1, 1]))
bad_target("/layers/001/bn_beta: has extents [4], [3] are expected",
           put("layers/001/bn_beta", np.ones(4)))
bad_target("/layers/002/bias: has 2 axes, expected: 1", put("layers/002/bias", np.ones((2, 1))))
bad_target("layer 001 expects 5 input channels but gets 4",
           put("layers/001/weight", np.ones((3, 5, 1, 2))))
bad_target("layer 002 is linear with 4 inputs but gets 3 x 1 x 1",
           put("layers/002/weight", np.ones((2, 4))))
bad_target("has 3 axes, [outputs, inputs, height, width] are expected",
           put("layers/001/weight", np.ones((3, 4, 2))))
bad_target("has 4 axes, [outputs, inputs] are expected",
           put("layers/002/weight", np.ones((2, 3, 1, 1))))
bad_target("has extents [0, 4, 1, 2], nothing is in it",
           put("layers/001/weight", np.ones((0, 4, 1, 2))))
bad_target("/layers/001/weight: is empty", put("layers/001/weight", h5py.Empty("f8")))
bad_target("/layers/001/weight: is bool", put("layers/001/weight", np.ones((3, 4, 1, 2), bool)))
bad_target("/layers/001/weight: is complex",
           put("layers/001/weight", np.ones((3, 4, 1, 2), complex)))
bad_target("/layers/001/weight: is compound",
           put("layers/001/weight", np.ones((3, 4, 1, 2), [("x", "f8"), ("y", "f8")])))
bad_target("/layers/001/weight: is string", put("layers/001/weight", "abc"))
bad_target("/layers/001/weight: is a group, a dataset is expected",
           lambda f: (remove("layers/001/weight")(f), f.create_group("layers/001/weight")))
bad_target("/layers/002/weight: there is no such dataset", remove("layers/002/weight"))
bad_target("its kernel is 9 pixels high but its padded input only 8",
           put("layers/000/weight", np.ones((4, 2, 9, 3))))
bad_target("attribute input_shape holds 0", set_attribute("/", "input_shape", [2, 0, 5]))
bad_target("expects 2 input channels but gets 3 from input_shape",
           set_attribute("/", "input_shape", [3, 6, 5]))
bad_target("attribute input_scale holds 3 values", set_attribute("/", "input_scale", [1, 2, 3]))
bad_target("input_min is there without input_max", remove_attribute("/", "input_max"))
bad_target("input_min 2 is larger than input_max 1.5", set_attribute("/", "input_min", 2.0))
bad_target("attribute input_max holds inf", set_attribute("/", "input_max", np.inf))
bad_target("attribute dataset has 500 letters", set_attribute("/", "dataset", "x" * 500))

with open(path("not_hdf5.h5"), "w") as f:
    f.write("weights\n" * 1000)
with open(path("network.h5"), "rb") as f:
    whole = f.read()
with open(path("cut.h5"), "wb") as f:
    f.write(whole[:len(whole) // 2])
with open(path("nothing.h5"), "wb") as f:
    pass
cases.append(("target", path("not_hdf5.h5"), "HDF5"))
cases.append(("target", path("cut.h5"), "truncated"))
cases.append(("target", path("nothing.h5"), "HDF5"))
cases.append(("target", path("absent.h5"), "absent.h5"))
cases.append(("target", folder, "fo"))
cases.append(("target", path("network.h5") + ":/layers/000/wieght", "did you mean 'weight'?"))
cases.append(("target", path("network.h5") + ":/layrs/000/weight", "nor a group /layrs/000"))
cases.append(("target", path("network.h5") + ":/layers", "is a group, a dataset is expected"))
cases.append(("target", path("network.h5") + ":/layers/000/bias", "has 1 axis, expected: 2 to 4"))

stored_files.write(path, cases, random)

graph_files.all_operators(path("graph.h5"))
for number, (text, write) in enumerate(graph_files.BAD):
    write(path(f"bad_graph_{number:02}.h5"))
    cases.append(("target", path(f"bad_graph_{number:02}.h5"), text))

# --- bare datasets of all types ----------------------------------------------------------------

values = np.array([[1, 2, 3], [4, 5, 100]])
with h5py.File(path("types.h5"), "w") as f:
    for name in ("f2", "f4", "f8", "g", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        f[name] = values.astype(name)
    for name in ("f2", "f4", "f8", "i2", "i4", "u8"):
        f["big_" + name] = values.astype(">" + name)
    f.create_dataset("compressed", data=values, chunks=(1, 2), compression="gzip", shuffle=True)
    f["deep/er/data"] = values
    f["conv"] = np.arange(24.0).reshape(2, 3, 2, 2)
    f["kernel:0"] = values
    f["a:b/kernel:0"] = values
shutil.copy(path("types.h5"), path("co:lon,types.mat"))

# --- source weights ----------------------------------------------------------------------------

def write_source(name, change=None):
    with h5py.File(path(name), "w") as f:
        for number, (c2, c1, c0, k1, k2) in enumerate((
                (4, 7, 2, (1, 1), (3, 3)), (3, 5, 4, (1, 2), (1, 1)), (2, 6, 3, None, None))):
            group = f.create_group("source/%03d" % number)
            group["W1"] = random.normal(size=(c1, c0) + (k1 or ())).astype(
                np.float32 if number == 1 else float)
            group["W2"] = random.normal(size=(c2, c1) + (k2 or ()))
            # Feature-major, as Norma holds it.
            w2 = group["W2"][...].reshape(c2, c1, -1)
            f["expected/%03d/W2" % number] = np.moveaxis(w2, 0, 1).copy()
        if change:
            change(f)


def bad_source(text, change):
    name = "bad_source_%02d.h5" % len(cases)
    write_source(name, change)
    cases.append(("source", path(name), text))


write_source("source.h5")
bad_source("no group /source/001", remove("source/001"))
bad_source("/source/002/W1: there is no such dataset", remove("source/002/W1"))
bad_source("/source/000/Ws: a skip connection, which nothing uses", put("source/000/Ws", np.ones((4, 2))))


def bad_skip(text, change):
    name = "bad_skip_%02d.h5" % len(cases)
    write_source(name, change)
    cases.append(("skip", path(name), text))


def put_skips(change):
    def apply(f):
        for number, shape in enumerate(((4, 2, 1, 1), (3, 4), (2, 3))):
            f["source/%03d/Ws" % number] = np.ones(shape)
        change(f)
    return apply


bad_skip("/source/000/Ws: there is no such dataset", lambda f: None)
bad_skip("/source/001/Ws: is from 5 to 3 channels, the target layer", put_skips(put("source/001/Ws", np.ones((3, 5)))))
bad_skip("has a 2x2 kernel: 1x1 or the target's", put_skips(put("source/000/Ws", np.ones((4, 2, 2, 2)))))
bad_skip("has 3 axes, 2 or 4", put_skips(put("source/000/Ws", np.ones((4, 2, 3)))))
bad_skip("/source/001/Ws: value nan", put_skips(put("source/001/Ws", np.full((3, 4), np.nan))))
bad_source("W1 has 8 features (axis 0) but W2 has 7",
           put("source/000/W1", np.ones((8, 2, 1, 1))))
bad_source("W1 has 3 input channels", put("source/000/W1", np.ones((7, 3, 1, 1))))
bad_source("W2 has 5 output channels", put("source/000/W2", np.ones((5, 7, 3, 3))))
bad_source("reach 3x2 taps, which does not cover the target's 3x3",
           put("source/000/W2", np.ones((4, 7, 3, 2))))
bad_source("/source/001/W2: value nan at [2, 4, 0, 0]",
           put("source/001/W2", np.where(np.arange(15).reshape(3, 5, 1, 1) == 14, np.nan, 1.0)))

# --- data sets ---------------------------------------------------------------------------------

def idx(array, kind=8):
    return (struct.pack(">BBBB", 0, 0, kind, array.ndim) +
            b"".join(struct.pack(">I", n) for n in array.shape) + array.tobytes())


images = random.integers(0, 256, size=(6, 4, 3)).astype(np.uint8)
labels = np.arange(6, dtype=np.uint8)


def write_set(name, image_bytes, label_bytes, zipped=False):
    os.makedirs(path(name), exist_ok=True)
    for file, data in (("t10k-images-idx3-ubyte", image_bytes),
                       ("t10k-labels-idx1-ubyte", label_bytes)):
        if data is not None:
            if zipped:
                data = gzip.compress(data)
            with open(path(name + "/" + file + (".gz" if zipped else "")), "wb") as f:
                f.write(data)


write_set("set", idx(images), idx(labels))
write_set("set_gz", idx(images), idx(labels), zipped=True)
with h5py.File(path("set_expected.h5"), "w") as f:
    f["pixels"] = images
    f["labels"] = labels
with open(path("alone-images"), "wb") as f:
    f.write(idx(images))


def put_set(name, pixels, image_bytes, classes, label_bytes):
    """A folder with files of other names."""
    os.makedirs(path(name), exist_ok=True)
    for file, data in ((pixels, image_bytes), (classes, label_bytes)):
        with open(path(name + "/" + file), "wb") as out:
            out.write(data)


qmnist = (labels[:, None] + np.arange(8) * 100).astype(">i4")
put_set("dotted", "t10k-images.idx3-ubyte", idx(images), "t10k-labels.idx1-ubyte", idx(labels))
put_set("mixed", "t10k-images-idx3-ubyte", idx(images), "t10k-labels.idx1-ubyte", idx(labels[:, None]))
put_set("qmnist", "qmnist-test-images-idx3-ubyte.gz", gzip.compress(idx(images)),
        "qmnist-test-labels-idx2-int.gz", gzip.compress(idx(qmnist, 0x0c)))
for code, kind in ((0x09, "i1"), (0x0b, ">i2"), (0x0c, ">i4"), (0x0d, ">f4"), (0x0e, ">f8")):
    put_set("idx_%02x" % code, "my-images.idx3", idx((images // 2).astype(kind), code), "my-labels.idx1",
            idx(labels.astype(kind), code))


def bad_set(text, image_bytes, label_bytes):
    name = "bad_set_%02d" % len(cases)
    write_set(name, image_bytes, label_bytes)
    cases.append(("dataset", path(name), text))


zipped = gzip.compress(idx(images))
damaged = bytearray(zipped)
damaged[-6] ^= 0xff  # of the checksum
bad_set("truncated: ends after 80 bytes, within its values", idx(images)[:80], idx(labels))
huge = idx(images)[:4] + (2 ** 31).to_bytes(4, "big") + idx(images)[8:]
bad_set("announces 2147483648 items", huge, idx(labels))
bad_set("within its extents", idx(images)[:10], idx(labels))
bad_set("within its magic number", b"", idx(labels))
bad_set("truncated", zipped[:len(zipped) - 12], idx(labels))
bad_set("damaged after 0 bytes (incorrect data check)", bytes(damaged), idx(labels))
bad_set("goes on after the 6 items it announces", idx(images) + b"x", idx(labels))
bad_set("begins with 00000a03", idx(images, kind=0x0a), idx(labels))
bad_set("value 5 is nan", idx(np.where(np.arange(72).reshape(6, 4, 3) == 5, np.nan, 1).astype(">f4"), 0x0d), idx(labels))
bad_set("begins with 00000802", idx(images[0]), idx(labels))
bad_set("begins with 89504e47", b"\x89PNG" + bytes(500), idx(labels))
bad_set("extent 0 on axis 1", idx(images[:, :0]), idx(labels))
bad_set("holds 5 labels for 6 images", idx(images), idx(labels[:5]))
bad_set("there is no file of labels", idx(images), None)
bad_set("holds 2 items, 3 are asked for", idx(images[:2]), idx(labels[:2]))
bad_set("begins with 00000803", idx(images), idx(images))
bad_set("[6, 10]; one class number an image is expected: store labels.argmax(axis=1)", idx(images),
        idx(np.eye(10, dtype=np.uint8)[labels]))
cases.append(("dataset", path("absent"), "no such file or folder"))
cases.append(("dataset", "cifar-100", "test.bin is not in NORMA_DATA"))
cases.append(("dataset", folder, "holds no t10k-images-idx3-ubyte"))


def cifar(n, n_labels, labels):
    """Pixels and the bytes of n records whose last label is labels[k]."""
    pixels = random.integers(0, 256, size=(n, 3, 32, 32)).astype(np.uint8)
    records = [bytes([label % 20] * (n_labels - 1) + [label]) + image.tobytes()
               for label, image in zip(labels, pixels)]
    return pixels, b"".join(records)


def put_file(name, data):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "wb") as f:
        f.write(data)


ten, ten_bytes = cifar(4, 1, [9, 0, 3, 7])
hundred, hundred_bytes = cifar(4, 2, [99, 0, 42, 7])
put_file("cifar-10-batches-bin/test_batch.bin", ten_bytes)
put_file("cifar-100-binary/test.bin", hundred_bytes)
put_file("zipped_cifar/any.bin.gz", gzip.compress(hundred_bytes))
with h5py.File(path("cifar_expected.h5"), "w") as f:
    f["ten"] = ten
    f["hundred"] = hundred


def bad_cifar(text, data, name="test_batch.bin"):
    file = "bad_cifar_%02d/%s" % (len(cases), name)
    put_file(file, data)
    cases.append(("dataset", os.path.dirname(path(file)), text))
    cases.append(("dataset", path(file), text))


bad_cifar("holds 12291 bytes, which are not a whole number", ten_bytes[:-1])
bad_cifar("holds 0 bytes", b"")
bad_cifar("label 10 of image 1 is not one of CIFAR-10's 0 to 9", cifar(4, 1, [0, 10, 0, 0])[1])
bad_cifar("label 100 of image 2 is not one of CIFAR-100's 0 to 99", cifar(4, 2, [0, 1, 100, 0])[1],
          "test.bin")
bad_cifar("label 255 of image 0 is not one of CIFAR-100's 0 to 19", b"\xff" + hundred_bytes[1:],
          "test.bin")
bad_cifar("fits CIFAR-10 and CIFAR-100 alike", bytes(3073 * 3074))
bad_cifar("holds 2 items, 3 are asked for", ten_bytes[:2 * 3073])
cut = gzip.compress(ten_bytes)
bad_cifar("truncated: the end of its gzip data is missing", cut[:len(cut) - 12], "test_batch.bin.gz")
bad_cifar("damaged after", cut[:2000] + bytes(200) + cut[2200:], "test_batch.bin.gz")

# HDF5: the six images with numbers of all types; labels beside them.
with h5py.File(path("sets.h5"), "w") as f:
    for name in ("f2", "f4", "f8", "g", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        f[name + "/images"] = images.astype(name)
        f[name + "/labels"] = labels.astype(name)
    for name in ("f2", "f4", "f8", "i2", "i4", "u8"):
        f["big_" + name + "/images"] = images.astype(">" + name)
        f["big_" + name + "/labels"] = labels.astype(">" + name)
    f["i1/images"] = (images // 2).astype(np.int8)
    f["half/images"] = images / 2  # no bytes
    f["half/labels"] = labels + 300  # nor these
    f["images"] = images[:, None]
    f["labels"] = labels
    f["flat/images"] = images.reshape(6, 12)
    f["scaled/images"] = images
    f["scaled/images"].attrs["scale_factor"] = 1 / 255
    for images_name, labels_name in (("x_test", "y_test"), ("test_images", "test_labels"), ("X", "y"),
                                     ("test_set_x", "test_set_y"), ("data", "targets")):
        f["named_%s/%s" % (images_name, images_name)] = images
        f["named_%s/%s" % (images_name, labels_name)] = labels[:, None]
        f["named_%s/unlike" % images_name] = labels[:2]
    f.create_dataset("packed/images", data=images, chunks=(1, 4, 3), compression="gzip")


def bad_h5_set(text, pixels, classes=labels, inside="/images"):
    name = "bad_set_%02d.h5" % len(cases)
    with h5py.File(path(name), "w") as f:
        f["images"] = pixels
        if classes is not None:
            f["labels"] = classes
    cases.append(("dataset", path(name) + ":" + inside, text))


def spoiled(array, index, value):
    array = array.astype(float)
    array[index] = value
    return array


bad_h5_set("/images: is bool", images > 9)
bad_h5_set("/images: is complex", images.astype(complex))
bad_h5_set("/images: is compound", np.zeros((6, 4, 3), [("x", "f8"), ("y", "f8")]))
bad_h5_set("/images: is string", np.array([[b"abc"] * 3] * 6))
bad_h5_set("/images: value nan at [1, 2, 0]", spoiled(images, (1, 2, 0), np.nan))
bad_h5_set("/images: has 1 axis, expected: 2 to 4", images[:, 0, 0])
bad_h5_set("/images: has 5 axes, expected: 2 to 4", images[:, None, None])
bad_h5_set("/images: has extents [6, 0, 3], nothing is in it", images[:, :0])
bad_h5_set("/images: holds 2 items, 3 are asked for", images[:2], labels[:2])
bad_h5_set("/labels: holds 5 labels for 6 images", images, labels[:5])
bad_h5_set("/labels: label -1 of image 1", images, spoiled(labels, 1, -1))
bad_h5_set("/labels: label 0.5 of image 2", images, spoiled(labels, 2, 0.5))
bad_h5_set("/labels: is bool", images, labels > 3)
bad_h5_set("/labels: has extents [6, 2]; one class number an image is expected", images, np.eye(6)[:, :2])
bad_h5_set("/image: there is no such dataset (did you mean 'images'?)", images, inside="/image")
cases.append(("dataset", path("sets.h5") + ":/f4", "is a group, a dataset is expected"))
cases.append(("dataset", path("sets.h5"), "which dataset of the file?"))
with h5py.File(path("sets.mat"), "w", userblock_size=512) as f:  # as MATLAB writes them
    f["images"] = images
cases.append(("dataset", path("sets.mat"), "which dataset of the file?"))

# Files of other kinds are named as what they are.
pickled = pickle.dumps({b"data": images}, protocol=2)
tarred, zipped_arrays, saved = io.BytesIO(), io.BytesIO(), io.BytesIO()
with tarfile.open(fileobj=tarred, mode="w") as archive:
    about = tarfile.TarInfo("data_batch_1")
    about.size = len(pickled)
    archive.addfile(about, io.BytesIO(pickled))
np.savez(zipped_arrays, images=images)
np.save(saved, images)
for name, data, text in (("data_batch_1", pickled, "a Python pickle"), ("arrays.npz", zipped_arrays.getvalue(), "a ZIP archive"),
                         ("cifar.tar", tarred.getvalue(), "a tar archive"), ("images.npy", saved.getvalue(), "a numpy .npy file"),
                         ("old.nc", b"CDF\x01" + bytes(600), "a classic netCDF file"),
                         ("old.mat", b"MATLAB 5.0 MAT-file, Platform" + bytes(600), "a MATLAB file of version 5 to 7"),
                         ("images.xz", lzma.compress(idx(images)), "compressed by xz"),
                         ("images.bz2", bz2.compress(idx(images)), "compressed by bzip2")):
    put_file("foreign/" + name, data)
    cases.append(("dataset", path("foreign/" + name), "is not a data set of images but " + text))
    cases.append(("target", path("foreign/" + name), "is not an HDF5 file but " + text))
    cases.append(("target", path("foreign/" + name) + ":/weight", "is not an HDF5 file but " + text))
put_file("foreign/cifar.tar.gz", gzip.compress(tarred.getvalue()))
cases.append(("dataset", path("foreign/cifar.tar.gz"), "but gzip data of a tar archive"))
cases.append(("target", path("foreign/cifar.tar.gz"), "but compressed by gzip"))
cases.append(("dataset", path("absent.h5") + ":/images", "no such file or folder"))
cases.append(("dataset", path("not_hdf5.h5") + ":/images", "HDF5"))
cases.append(("dataset", path("cut.h5") + ":/images", "truncated"))

with open(path("cases.txt"), "w") as f:
    for case in cases:
        f.write("\t".join(case) + "\n")
