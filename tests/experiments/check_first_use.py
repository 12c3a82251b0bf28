"""Obstacles of a first run: targets without a range, features beside source weights, results read from another
folder, files that are not there, a shift that costs many digits, what a run says about itself."""
import os
import re
import shutil

import h5py
import numpy as np

from program import check, finish, folder, launch, some, write_source, write_target

LAYER = {"weight": np.arange(6.0).reshape(2, 3), "type": "linear", "activation": "relu"}


def run(arguments, code, texts, ranks=1, base=None):
    done = launch(arguments, ranks)
    check(done.returncode == code and all(text in done.stderr for text in texts) and
          done.stderr.count("error") == (code != 0),
          f"{arguments} on {ranks} ranks: {done.returncode} {done.stderr}")
    if base:
        check(not os.path.exists(base), f"{arguments}: left {base}")
    return done


def test_input_range(base):
    """A range given is the range declared, bit for bit; another one than the file's is refused."""
    write_target(f"{base}/bare.h5", [LAYER], input_shape=np.array([3]))
    write_target(f"{base}/range.h5", [LAYER], input_shape=np.array([3]), input_min=-2.0, input_max=0.5)
    for ranks in some((1, 2)):
        values = []
        for target, more in (("range", []), ("bare", ["--input-range", "-2,0.5"]), ("range", ["--input-range", "-2,0.5"])):
            run(["reconstruct", "--target", f"{base}/{target}.h5", "--seed", 1, "--force",
                 "--output", f"{base}/result.h5"] + more, 0, [], ranks)
            with h5py.File(f"{base}/result.h5") as f:
                values.append(f["layers/000/beta1"][()])
        check(all((v == values[0]).all() for v in values), "the same maps")
    for target, given, text in (("bare", None, "give --input-range MIN,MAX"), ("bare", "1", "two numbers are expected"),
                                ("bare", "2,1", "larger than the second"), ("range", "0,1", "the target declares -2 to 0.5")):
        run(["reconstruct", "--target", f"{base}/{target}.h5", "--output", f"{base}/none.h5"] +
            ([] if given is None else ["--input-range", given]), 2, [text], 2 if given == "0,1" else 1, f"{base}/none.h5")
    run(["reconstruct", "--c-out", 2, "--c-in", 2, "--input-range", "0,1", "--output", f"{base}/none.h5"], 2,
        ["--input-range: a random target"])


def test_features(base):
    random = np.random.default_rng(1)
    write_source(f"{base}/pair.h5", [(random.standard_normal((7, 3)), random.standard_normal((2, 7)))])
    arguments = ["reconstruct", "--target", f"{base}/range.h5", "--source", f"{base}/pair.h5", "--seed", 1, "--force",
                 "--output", f"{base}/result.h5", "--features"]
    for ranks in some((1, 2)):
        run(arguments + [7], 0, [], ranks)
        run(arguments + [8], 2, ["--features: 8, but the pair of --source has 7 features"], ranks)


def test_elsewhere(base):
    """A result names its target as that run did; evaluate says so from another folder."""
    here = os.getcwd()
    os.mkdir(f"{base}/made")
    write_target(f"{base}/made/net.h5", [LAYER], input_shape=np.array([3]))
    with h5py.File(f"{base}/made/set.h5", "w") as f:
        f["images"] = np.random.default_rng(2).random((4, 3))
        f["labels"] = np.arange(4) % 2
    os.chdir(f"{base}/made")
    try:
        run(["reconstruct", "--target", "net.h5", "--dataset", "set.h5:/images", "--samples", 4, "--seed", 1,
             "--output", "result.h5"], 0, [])
    finally:
        os.chdir(here)
    result = ["evaluate", f"{base}/made/result.h5"]
    moved = result + ["--target", f"{base}/made/net.h5"]
    run(moved, 2, ["data set set.h5:/images", "give --dataset"])
    for ranks in some((2, 1)):
        run(result, 2, ["net.h5: No such file", "give --target"], ranks)
        done = run(moved + ["--dataset", f"{base}/made/set.h5:/images"], 0, [], ranks)
        check(f"norma: {ranks} rank" in done.stderr, f"evaluate announces its ranks: {done.stderr}")
        check(done.stdout.splitlines()[-1].split()[2:4] == ["4", "0"], f"evaluate: {done.stdout}")
    shutil.rmtree(f"{base}/made")


def test_files(base):
    """A file that is not there is named with the option that asked for it."""
    for command, option in some((("chain", "input"), ("reconstruct", "dataset"), ("spectrum", "source"),
                                 ("chain", "weights"), ("reconstruct", "target"), ("reconstruct", "source"),
                                 ("spectrum", "target")), 2):
        target = ["--target", f"{base}/range.h5"] if option in ("source", "dataset") else []
        run([command, f"--{option}", "nothere.h5", "--output", f"{base}/none.h5"] + target, 2,
            [f"--{option}: ", "nothere.h5"], 2 if option in ("input", "target") else 1, f"{base}/none.h5")


def test_digits(base):
    arguments = ["reconstruct", "--target", f"{base}/bare.h5", "--seed", 1, "--replicas", 2, "--force",
                 "--output", f"{base}/result.h5", "--input-range"]
    for reach, n, ranks in some((("1e12", 1, 1), ("1", 0, 1), ("1e12", 1, 2)), 2):
        done = run(arguments + [f"-{reach},{reach}"], 0, [], ranks)
        with h5py.File(f"{base}/result.h5") as f:
            lost = f["digits_lost"][()].max()
        check((lost > 10) == (n > 0) and done.stderr.count("warning: layer 0: the shift") == n,
              f"range {reach}: {lost} digits, {done.stderr}")


def test_announcement(base):
    """Ranks, threads and the seed that was drawn, which the file repeats."""
    for command in (["chain", "--width", 4, "--depth", 3], ["spectrum", "--c-out", 2, "--c-in", 2],
                    ["reconstruct", "--c-out", 2, "--c-in", 2]):
        for ranks in (2,) if command[0] == "reconstruct" else some((1, 2)):
            done = run(command + ["--force", "--output", f"{base}/result.h5"], 0, [], ranks)
            drawn = re.findall(r"norma: seed (\d+)$", done.stderr, re.MULTILINE)
            check(re.search(rf"norma: {ranks} ranks? on 1 node, \d+ threads? each", done.stderr), f"{command}: {done.stderr}")
            with h5py.File(f"{base}/result.h5") as f:
                check([str(f.attrs["seed"])] == drawn, f"{command}: seed {f.attrs['seed']}, {drawn} printed")


def main():
    with folder() as base:
        test_input_range(base)
        test_features(base)
        test_elsewhere(base)
        test_files(base)
        test_digits(base)
        test_announcement(base)
    finish()


main()
