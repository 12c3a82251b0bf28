"""norma merge: shares, seeds and further values of swept options become the file of one run, equal in every variable;
what does not fit together is refused with its name and both files."""
import os
import shutil

import h5py
import numpy as np

import program

# Each in two shares.
SHARED = [
    ["spectrum", "--c-out", 2, "--c-in", 3, "--excess", "0,2", "--source-dist", "normal,uniform", "--values", "all"],
    ["reconstruct", "--c-out", 2, "--c-in", 2, "--excess", "0..3", "--save", "gamma"],
    ["chain", "--width", 8, "--depth", "6,20", "--batch", "4,8", "--replicas", 2, "--cell-streams", "independent"],
    ["align", "--c-out", 3, "--c-in", 2, "--features", "2..5"],
    ["gradient", "--width", 6, "--depth", "5,9", "--batch", "4,6"],
    ["meanfield", "--act", "relu,tanh,identity"],
]
# Single cells of two seeds, or of two values of an option: what a sweep has in other places than a single cell.
LONE = [
    (["reconstruct", "--c-out", 2, "--c-in", 2, "--save", "gamma,weights"], "--seed", (2, 1)),
    (["spectrum", "--c-out", 2, "--c-in", 3, "--values", 2], "--seed", (1, 2)),
    (["reconstruct", "--c-out", 2, "--c-in", 2], "--seed", (1, 2)),
    (["reconstruct", "--c-out", 2, "--c-in", 2, "--seed", 3], "--solver", ("lu", "mixed")),
    (["chain", "--width", 8, "--seed", 3], "--depth", (6, 50)),
]
# Four replicas and two more of the same seed.
REPLICAS = [
    ["spectrum", "--c-out", 2, "--c-in", 3, "--excess", "0,3", "--values", 3, "--width-rule", "min"],
    ["reconstruct", "--construction", "teacher", "--width", 4, "--samples", 20],
    ["reconstruct", "--c-out", 2, "--c-in", 2, "--excess", "0,1", "--save", "gamma,weights", "--target-per-replica"],
    ["reconstruct", "--c-out", 2, "--c-in", 2, "--residual", "inner"],
    ["reconstruct", "--c-out", 3, "--c-in", 4, "--construction", "deep", "--depth", 3],
    ["reconstruct", "--c-out", 4, "--c-in", 4, "--construction", "skip"],
    ["align", "--c-out", 3, "--c-in", 2, "--features", "3,4"],
]
# Their files hold what is computed from all replicas of a run: the replicas themselves are compared.
POOLED = [
    (["chain", "--width", 4, "--depth", 9], "stable_rank", "stable_rank_rhat"),
    (["gradient", "--width", 4, "--depth", 9], "log_grad_norm", "log_grad_norm_mean"),
]


def run(command, output, *more):
    seeded = command[0] == "meanfield" or "--seed" in [*command, *more]
    done = program.launch([*command, *more, *([] if seeded else ["--seed", 7]), "--output", output, "--force"])
    program.check(done.returncode == 0, f"{command} {more}: {done.stderr}")
    return output


def merge(out, inputs, *more, ranks=1):
    return program.launch(["merge", out, *inputs, "--force", *more], ranks=ranks)


def attributes(path):
    """Of every object those that do not refer to others; of the root those that do not depend on the run."""
    found = {}

    def add(name, item):
        found.update({(name, key): str(value) for key, value in item.attrs.items()
                      if key not in ("DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Coordinates", "_Netcdf4Dimid")})

    with h5py.File(path) as f:
        f.visititems(add)
        for key in ("status", "title", "seed", "cell_streams", "input_files", "NX_class", "signal", "axes", "default"):
            found["/", key] = str(f.attrs.get(key))
    del found["configuration", "long_name"]
    return found


def expect_equal(whole, out, inputs, what, ranks=1):
    done = merge(out, inputs, ranks=ranks)
    program.check(done.returncode == 0, f"{what}: {done.stderr}")
    expected, found = attributes(whole), attributes(out)
    program.check(expected == found, f"{what}: attributes {expected.items() - found.items()}, found {found.items() - expected.items()}")
    done = program.launch(["diff", whole, out])
    program.check(done.returncode == 0, f"{what}: {done.stdout}{done.stderr}")


def refused(out, inputs, wanted, *more):
    done = merge(out, inputs, *more)
    named = all(os.path.basename(str(w)) in done.stderr for w in wanted)
    program.check(done.returncode == 2 and named, f"{inputs}: {done.returncode} {done.stderr}, expected {wanted}")
    program.check(not os.path.exists(out), f"{inputs}: {out} was left behind")


def edited(path, copy, name, value):
    """A copy of a result with another root attribute."""
    shutil.copy(path, copy)
    with h5py.File(copy, "a") as f:
        f.attrs[name] = value
    return copy


def check_equal(folder):
    for command in program.some(SHARED):
        whole = run(command, f"{folder}/whole.h5")
        shares = [run(command, f"{folder}/share-{i}.h5", "--cells", f"{i}/2") for i in (2, 1)]
        expect_equal(whole, f"{folder}/merged.h5", shares, command, ranks=2 if command[0] == "spectrum" else 1)
    for command, option, values in program.some(LONE):
        whole = run(command, f"{folder}/whole.h5", option, ",".join(map(str, sorted(values))))
        parts = [run(command, f"{folder}/part-{v}.h5", option, v) for v in values]
        expect_equal(whole, f"{folder}/merged.h5", parts, (command, option))


def check_replicas(folder):
    def run_three(command):
        return [run(command, f"{folder}/replicas-{n}-{first}.h5", "--replicas", n, "--replica-offset", first)
                for n, first in ((6, 0), (4, 0), (2, 4))]

    for command in program.some(REPLICAS):
        whole, four, two = run_three(command)
        expect_equal(whole, f"{folder}/merged.h5", [two, four], command)
        with h5py.File(two) as f, h5py.File(f"{folder}/merged.h5") as m:
            program.check(f["replica"][...].tolist() == [4, 5] and m["replica"][...].tolist() == [0, 1, 2, 3, 4, 5],
                          f"{command}: replicas {f['replica'][...]}, {m['replica'][...]}")
    out = f"{folder}/out.h5"
    if os.path.exists(out):
        os.remove(out)
    for command, per_replica, pooled in POOLED:
        whole, four, two = run_three(command)
        refused(out, [four, two], [pooled, "all replicas"])
        with h5py.File(whole) as w, h5py.File(two) as f:
            program.check(np.array_equal(w[per_replica][4:], f[per_replica][...], equal_nan=True), f"{command}: {per_replica} differs")
    refused(out, [four, run(POOLED[1][0], f"{folder}/overlap.h5", "--replicas", 2, "--replica-offset", 3)], ["replica 3 of cell 0", four, "overlap.h5"])
    refused(out, [four, run(POOLED[1][0], f"{folder}/gap.h5", "--replica-offset", 5)], ["1 of the 1 cells"])


def check_ranges(folder):
    """An L-shaped set of cells, merged in two steps; its missing corner; the partial file."""
    command = ["spectrum", "--c-out", 2, "--c-in", 3]
    whole = run(command, f"{folder}/whole.h5", "--excess", "0,2,4", "--source-dist", "normal,uniform")
    a = run(command, f"{folder}/a.h5", "--excess", "0,4", "--source-dist", "normal")
    b = run(command, f"{folder}/b.h5", "--excess", "2", "--source-dist", "normal,uniform")
    c = run(command, f"{folder}/c.h5", "--excess", "0,4", "--source-dist", "uniform")
    out, some = f"{folder}/out.h5", f"{folder}/some.h5"
    refused(some, [a, b], ["2 of the 6 cells", "3 (source-dist=uniform, excess=0)", "5 ("])
    done = merge(some, [a, b], "--partial")
    program.check(done.returncode == 0 and "2 of 6 cells are missing" in done.stderr, f"--partial: {done.stderr}")
    with h5py.File(some) as f, h5py.File(whole) as w:
        program.check(f.attrs["status"] == "partial" and "3 (source-dist=uniform, excess=0)" in f.attrs["missing_cells"],
                      f"status {f.attrs['status']}")
        kinds = set()
        for name in w:
            if w[name].shape[:2] == (2, 3) and w[name].attrs["units"] != "s":
                kinds.add(w[name].dtype)
                expected = w[name][...]
                expected[1, [0, 2]] = w[name].fillvalue
                program.check(np.array_equal(f[name][...], expected, equal_nan=True), f"{name}: {f[name][...]}, expected {expected}")
        program.check(len(kinds) >= 3, f"types with missing values: {kinds}")
    refused(out, [some, c], [some, "--partial"])
    expect_equal(whole, out, [a, c, b], "ranges")
    # A merged file is a part like any other, and can be run again.
    wider = run(command, f"{folder}/wider.h5", "--excess", 6, "--source-dist", "normal,uniform")
    whole = run(command, whole, "--excess", "0,2,4,6", "--source-dist", "normal,uniform")
    expect_equal(whole, f"{folder}/again.h5", [wider, out], "merged twice")
    run(["spectrum", "--config", f"{folder}/again.h5", "--seed", "7"], f"{folder}/rerun.h5")
    done = program.launch(["diff", whole, f"{folder}/rerun.h5"])
    program.check(done.returncode == 0, f"run again: {done.stdout}{done.stderr}")
    os.remove(out)
    return a, b, out


def check_refusals(folder):
    a, b, out = check_ranges(folder)
    command = ["spectrum", "--c-out", 2, "--c-in", 3]
    refused(out, [a, run(command, f"{folder}/other.h5", "--excess", 0, "--bins", 7)], ["--bins differs", a, "other.h5 has 7"])
    refused(out, [a, b, a], ["replica 0 of cell 0 (source-dist=normal, excess=0)", a])
    refused(out, [a, run(["chain", "--width", 4], f"{folder}/chain.h5")], ["norma spectrum", "norma chain", a])
    refused(out, [a, edited(b, f"{folder}/old.h5", "norma_version", "0.0.1")], ["old.h5", "norma 0.0.1"])
    refused(out, [a, edited(b, f"{folder}/b.h5.part", "status", "running")], ["b.h5.part", "has not finished"])
    refused(out, [a, edited(b, f"{folder}/early.h5", "status", "stopped")], ["early.h5", "--resume"])
    refused(out, [a, f"{folder}/none.h5"], ["none.h5"])
    shutil.copy(a, out)
    done = program.launch(["merge", out, a, b])
    program.check(done.returncode == 2 and "exists with status complete" in done.stderr, f"existing output: {done.stderr}")
    os.remove(out)
    # One name begins with the other.
    kernels = [edited(x, f"{folder}/{kernel}.h5", "blas_kernel", kernel) for x, kernel in ((a, "ARMV8SVE"), (b, "ARMV8"))]
    done = merge(out, kernels, "--partial")
    program.check(done.returncode == 0 and "BLAS kernels ARMV8SVE, and" in done.stderr and "with ARMV8:" in done.stderr, f"kernel: {done.stderr}")
    with h5py.File(out) as f:
        program.check(f.attrs["blas_kernel"] == "ARMV8SVE, ARMV8", f"kernels {f.attrs['blas_kernel']}")
    os.remove(out)
    # The same name, another content.
    rng = np.random.default_rng(1)
    command = ["reconstruct", "--target", f"{folder}/net.h5"]
    parts = []
    for i in (1, 2):
        program.write_target(f"{folder}/net.h5", [dict(weight=rng.normal(size=(2, 3)), type="linear", activation="identity")],
                             input_shape=[3], input_min=-1.0, input_max=1.0)
        parts.append(run(command, f"{folder}/net-{i}.h5", "--seed", i))
    refused(out, parts, ["input files of different content", "net-1.h5", "net-2.h5"])
    if not program.ALL:
        return
    # Random numbers that depend on the number of a cell; a fit along an option.
    own = ["spectrum", "--c-out", 2, "--c-in", 3, "--cell-streams", "independent"]
    parts = [run(own, f"{folder}/own-{e}.h5", "--excess", e) for e in (0, 2)]
    refused(out, parts, ["--cell-streams", "cell 0 of", "own-2.h5"])
    gradient = ["gradient", "--width", 4, "--depth", 3]
    parts = [run(gradient, f"{folder}/gain-{g}.h5", "--gain", g) for g in (1, 2)]
    refused(out, parts, ["--gain differs", "gain-1.h5", "gain-2.h5", "fitted"])
    # Layers that one run of both depths would have recorded, and these did not.
    parts = [run(["chain", "--width", 4], f"{folder}/deep-{d}.h5", "--depth", d) for d in (60, 500)]
    refused(out, parts, ["layer", "deep-60.h5", "deep-500.h5"])


with program.folder() as scratch:
    check_equal(scratch)
    check_replicas(scratch)
    check_refusals(scratch)
program.finish()
