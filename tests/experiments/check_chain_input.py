"""norma chain on batches from data sets: IDX images as columns, sizes settled and refused, and what the
replicas say together in the file."""
import gzip
import os
import shutil
import struct

import h5py
import numpy as np

from program import check, finish, folder, launch, some

OBSERVABLES = "fro2,log_norm,cosine,tr_m3,tr_diag2"


def write_images(base, images):
    """A folder with an IDX file of test images and one of labels."""
    os.makedirs(base)
    with gzip.open(f"{base}/t10k-images-idx3-ubyte.gz", "wb") as f:
        f.write(struct.pack(">BBBBIII", 0, 0, 8, 3, *images.shape) + images.tobytes())
    with gzip.open(f"{base}/t10k-labels-idx1-ubyte.gz", "wb") as f:
        f.write(struct.pack(">BBBBI", 0, 0, 8, 1, len(images)) + bytes(len(images)))


def run(arguments, path, ranks=1, **more):
    return launch(["chain", "--seed", 3, "--output", path, "--force", "--quiet"] + arguments, ranks, **more)


def test_values(base, images):
    """vanilla leaves the input as it is at depth 0: norms and inner products are numpy's."""
    path = f"{base}/values.h5"
    for scale, offset in ((1 / 255, 0), (2 / 255, -1)):
        options = [] if offset == 0 else ["--input-scale", 2 / 255, f"--input-offset={offset}"]
        done = run(["--preset", "vanilla", "--depth", 0, "--batch", 7, "--observables", OBSERVABLES,
                    "--input", f"{base}/set"] + options, path, 2)
        check(done.returncode == 0, f"a folder as input: {done.stderr}")
        h = scale * images[:7].reshape(7, -1).T.astype(float) + offset
        m = h @ h.T / 7
        with h5py.File(path) as f:
            check(np.isclose(f["log_norm"][0, 0], np.log(np.linalg.norm(h)), rtol=1e-12),
                  "log_norm of the images")
            check(np.isclose(f["fro2"][0, 0], np.sum(m * m), rtol=1e-12), "fro2 of the images")
            a, b = h[:, 0], h[:, 1]
            check(np.isclose(f["cosine"][0, 0], a @ b / np.sqrt((a @ a) * (b @ b)), rtol=1e-12),
                  "cosine of the images")


def test_equal_to_h0(base, images):
    """The same samples from a file as /H0 give the same bits; a batch sweep reads prefixes."""
    with h5py.File(f"{base}/h0.h5", "w") as f:
        f["H0"] = images[:5].reshape(5, -1).T * (1 / 255)
        f["images"] = images / 255
    common = ["--depth", 20, "--replicas", 3, "--observables", OBSERVABLES]
    done = run(common + ["--input", f"{base}/h0.h5"], f"{base}/a.h5")
    check(done.returncode == 0, f"/H0: {done.stderr}")
    done = run(common + ["--batch", "3,5", "--input", f"{base}/set/t10k-images-idx3-ubyte.gz"],
               f"{base}/b.h5", 3)
    check(done.returncode == 0, f"a file of images: {done.stderr}")
    done = run(common + ["--batch", 5, "--input", f"{base}/h0.h5:/images"], f"{base}/c.h5", 2)
    check(done.returncode == 0, f"images in HDF5: {done.stderr}")
    with h5py.File(f"{base}/a.h5") as a, h5py.File(f"{base}/b.h5") as b:
        with h5py.File(f"{base}/c.h5") as c:
            check(np.allclose(a["fro2"][()], c["fro2"][()], rtol=1e-9), "images in HDF5 are the same")
        check((a["fro2"][()] == b["fro2"][1]).all(), "images and /H0 give the same bits")
        check((b["fro2"][0] != b["fro2"][1]).any(), "another batch gives other values")
        x = a["regularity_alpha"][()]
        check(np.isclose(a["regularity_alpha_pooled_mean"][()], x.mean(), rtol=1e-14),
              "pooled regularity constant")
        error = max(x.std(ddof=1) / np.sqrt(3),
                    np.sqrt(np.sum(a["regularity_alpha_stderr"][()] ** 2)) / 3)
        check(np.isclose(a["regularity_alpha_pooled_stderr"][()], error, rtol=1e-12),
              "its standard error")


def test_plain_names(base):
    """A file or a folder whose name looks like a kind of input, in the folder of the run."""
    shutil.copy(f"{base}/set/t10k-images-idx3-ubyte.gz", f"{base}/idx")
    shutil.copy(f"{base}/h0.h5", f"{base}/diagonal")
    found = {}
    for name, ranks in (("idx", 2), ("set", 1), ("diagonal", 1)):
        done = run(["--depth", 3, "--batch", 4, "--observables", "fro2", "--input", name], f"{base}/plain.h5", ranks,
                   cwd=base)
        check(done.returncode == 0, f"--input {name}: {done.stderr}")
        with h5py.File(f"{base}/plain.h5") as f:
            found[name] = f["fro2"][()]
    check((found["idx"] == found["set"]).all(), f"a file named idx: {found}")
    check((found["idx"] != found["diagonal"]).any(), f"a file stands for the kind diagonal: {found}")


def test_lyapunov(base):
    """Pooled exponents of a linear chain, one row per exponent."""
    path = f"{base}/lyapunov.h5"
    done = run(["--preset", "vanilla", "--width", 12, "--batch", 4, "--depth", 400, "--replicas", 6,
                "--observables", "lyapunov,log_norm"], path, 2)
    check(done.returncode == 0, f"lyapunov: {done.stderr}")
    with h5py.File(path) as f:
        x = f["lyapunov"][()]
        check(x.shape == (6, 4), f"lyapunov of each replica: {x.shape}")
        check(np.allclose(f["lyapunov_pooled_mean"][()], x.mean(axis=0), rtol=1e-13), "pooled exponents")
        check(np.allclose(f["lyapunov_pooled_stderr"][()], x.std(axis=0, ddof=1) / np.sqrt(6),
                          rtol=1e-10), "their standard errors")


def test_names(base):
    """A sweep over activations with parameters has names in the file."""
    path = f"{base}/names.h5"
    done = run(["--preset", "thesis3", "--act", "relu,leaky-relu:0.1", "--width", 16, "--batch", 5,
                "--depth", 20], path)
    check(done.returncode == 0, f"--act with a parameter: {done.stderr}")
    with h5py.File(path) as f:
        meanings = f["act"].attrs["flag_meanings"]
        check(meanings in (b"relu leaky-relu_0.1", "relu leaky-relu_0.1"), f"names: {meanings}")


def test_refusals(base):
    path = f"{base}/no.h5"
    for arguments, words in (
            (["--input", f"{base}/set", "--width", 31, "--batch", 5], ["--width", "31", "30"]),
            (["--input", f"{base}/set", "--batch", 50], ["50", "9"]),
            (["--input", f"{base}/set,{base}/set/t10k-images-idx3-ubyte.gz"], ["one input"]),
            (["--input", f"{base}/none"], ["none"]),
            (["--input", "gausian"], ["gaussian"]),
            (["--input-scale", "2"], ["--input-scale", "data set"]),
            (["--input-epsilon", "0.1"], ["--input-epsilon", "near-collinear"]),
            (["--depth", "10", "--burn-in", "10"], ["--burn-in", "--depth 10"]),
            (["--keep-probability", "0.3"], ["--keep-probability", "er-sign"])):
        for ranks in some((1, 3), 2 if words == ["none"] else 1):
            done = run(arguments, path, ranks)
            check(done.returncode == 2 and all(w in done.stderr for w in words) and
                  done.stderr.count("error") == 1,
                  f"{arguments} on {ranks} ranks: {done.returncode} {done.stderr}")
    check(not os.path.exists(path), "nothing is left of what was refused")


def test_memory(base):
    """plan's memory is within 10% of the peak of the run, and what does not fit is refused."""
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    for sizes in some((["--width", 900, "--batch", 300], ["--width", 500], ["--width", 1400])):
        arguments = ["chain", "--depth", 1, "--seed", 1] + sizes
        planned = launch(["plan"] + arguments)
        check(planned.returncode == 0, f"plan {sizes}: {planned.stderr}")
        words = planned.stdout.split("memory a rank ")[1].replace(",", " ").split()
        run_it = launch(arguments + ["--quiet", "--output", f"{base}/memory{sizes[1]}.h5"],
                        peak=True)
        ratio = float(words[0]) * units[words[1]] / run_it.peak
        check(0.9 < ratio < 1.1, f"memory of {sizes}: planned {ratio:.3f} of the peak")
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < 100 * 2**30
    for command in (["plan", "chain"], ["chain", "--dry-run"], ["chain"])[:3 if here else 1]:
        done = launch(command + ["--width", "46000", "--output", f"{base}/big.h5"] +
                      (["--node-memory", 20] if command[0] == "plan" else []), 2)
        check(done.returncode == 3 and "a rank" in done.stderr and done.stderr.count("error") == 1,
              f"{command}: what does not fit is refused: {done.returncode} {done.stderr}")


def main():
    images = np.random.default_rng(1).integers(0, 256, (9, 6, 5), dtype=np.uint8)
    with folder() as base:
        write_images(f"{base}/set", images)
        test_values(base, images)
        test_equal_to_h0(base, images)
        test_plain_names(base)
        test_lyapunov(base)
        test_names(base)
        test_refusals(base)
        test_memory(base)
    finish()


main()
