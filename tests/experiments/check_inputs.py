"""Images of HDF5 files in chain and reconstruct: bytes by their stored type alone, labels under other
names and from 1 on, samples of the wrong scale."""
import h5py
import numpy as np

from program import ALL, check, finish, folder, launch, some, write_target


def write_images(path):
    random = np.random.default_rng(4)
    with h5py.File(path, "w") as f:
        f["bits/images"] = (random.random((20, 6, 5)) > 0.7).astype("f4")  # of the values of bytes
        f["bits/labels"] = np.arange(20) % 4 + 1
        f["bytes/images"] = random.integers(0, 2, (20, 6, 5)).astype("u1")
        f["one_hot/images"] = f["bytes/images"][...]
        f["one_hot/labels"] = np.eye(4)[np.arange(20) % 4]
        f["named/x_test"] = random.random((20, 6, 5)) / 255
        f["named/y_test"] = (np.arange(20) % 4)[:, None]
        f["alone/pictures"] = random.random((20, 6, 5))


def test_stored_type(base):
    """0 and 1 stored as floats are numbers, stored as bytes pixels, in every batch; labels do not matter."""
    for name, text, scale in (("bits", "stored as float32: numbers, taken as they are", 1),
                              ("one_hot", "stored as uint8: pixels of a byte, times 1/255", 1 / 255),
                              ("bytes", "stored as uint8: pixels of a byte, times 1/255", 1 / 255)):
        for batch in some((8, 16), 2 if name == "bits" else 1):
            done = launch(["chain", "--preset", "vanilla", "--depth", 0, "--seed", 1, "--batch", batch, "--force",
                           "--observables", "log_norm", "--input", f"{base}/images.h5:/{name}/images",
                           "--output", f"{base}/chain.h5"], 2 if batch == 16 else 1)
            check(done.returncode == 0 and text in done.stderr, f"{name}: {done.returncode} {done.stderr}")
            with h5py.File(f"{base}/images.h5") as f, h5py.File(f"{base}/chain.h5") as result:
                norm = np.log(np.linalg.norm(scale * f[f"{name}/images"][:batch].astype(float)))
                check(np.isclose(result["log_norm"][0, 0], norm, rtol=1e-12), f"{name}: log_norm of {batch}")


def test_configuration(base):
    """The configuration that a chain with an input file writes is accepted again, and gives the same bits."""
    with h5py.File(f"{base}/h0.h5", "w") as f:
        f["H0"] = np.random.default_rng(5).standard_normal((6, 4))
    for ranks in some((2, 1)):
        done = launch(["chain", "--depth", 9, "--seed", 1, "--force", "--observables", "fro2",
                       "--input", f"{base}/h0.h5", "--output", f"{base}/a.h5"], ranks)
        check(done.returncode == 0, f"first run: {done.stderr}")
        with h5py.File(f"{base}/a.h5") as f, open(f"{base}/run.yaml", "w") as out:
            text = f["configuration"][()]
            out.write(text.decode() if isinstance(text, bytes) else text)
            values = f["fro2"][()]
        done = launch(["chain", "--config", f"{base}/run.yaml", "--force", "--output", f"{base}/b.h5"], ranks)
        check(done.returncode == 0, f"--config of what was written: {done.stderr}")
        with h5py.File(f"{base}/b.h5") as f:
            check((f["fro2"][()] == values).all(), "the same values")


def test_labels_and_range(base):
    write_target(f"{base}/target.h5", [{"weight": np.ones((4, 30)), "type": "linear", "activation": "identity"}],
                 input_shape=np.array([30]), input_min=0.0, input_max=1.0)
    for name, code, text in (
            ("bits/images", 2, "labels are from 1 to 4, but the network's outputs are 0 to 3: subtract 1"),
            ("one_hot/images", 2, "has extents [20, 4]; one class number an image is expected"),
            ("named/x_test", 0, "less than 2% of the target's input range from 0 to 1"),
            ("alone/pictures", 0, "no labels were found beside the images")):
        done = launch(["reconstruct", "--target", f"{base}/target.h5", "--dataset", f"{base}/images.h5:/{name}",
                       "--samples", 3, "--seed", 1, "--force", "--output", f"{base}/result.h5"],
                      2 if ALL or name == "bits/images" else 1)
        check(done.returncode == code and text in done.stderr and done.stderr.count("error") == (code != 0),
              f"{name}: {done.returncode} {done.stderr}")
        if code == 0:
            with h5py.File(f"{base}/result.h5") as f:
                check(np.isnan(f["accuracy_target"][()]).all() == (name == "alone/pictures"), f"{name}: accuracy")


def main():
    with folder() as base:
        write_images(f"{base}/images.h5")
        test_stored_type(base)
        test_configuration(base)
        test_labels_and_range(base)
    finish()


main()
