"""Norma takes back the configurations that it writes: command lines that together set the options of all
subcommands, each run again from the text and from the result that it wrote; texts from pipes and other files. One line
a subcommand, with the argument `all` each."""
import os
import re
import subprocess

import h5py
import numpy as np

from program import ALL, MPIEXEC, NORMA, check, finish, folder, launch, some, write_source, write_target


# They say how to run, not what: belong on the command line and are not written.
ONLY_FLAGS = {"config", "dry-run", "force", "quiet", "resume", "verbose"}


def write_files(base):
    random = np.random.default_rng(6)
    with h5py.File(f"{base}/a,b.nc", "w") as f:  # an HDF5 file by its content, with a comma
        f["H0"] = random.standard_normal((6, 4))
        f["W"] = random.standard_normal((5, 6, 6)) / 3
        f["images"] = random.random((8, 2, 3))
        f["labels"] = np.arange(8) % 2
        f["kernel:0"] = random.standard_normal((3, 6))
    write_target(f"{base}/net.h5", [{"weight": random.standard_normal((3, 6)), "type": "linear", "activation": "tanh"},
                                    {"weight": random.standard_normal((2, 3)), "type": "linear", "activation": "relu"}],
                 input_shape=np.array([6]))
    write_source(f"{base}/pair.h5", [(random.standard_normal((30, 6)), random.standard_normal((3, 30))),
                                     (random.standard_normal((9, 3)), random.standard_normal((2, 9)))])
    with h5py.File(f"{base}/pair.h5", "a") as f:
        for i, (c1, c2) in enumerate(((30, 3), (9, 2))):
            for name, n in ("mu1", c1), ("var1", c1), ("mu2", c2), ("var2", c2):
                f[f"source/{i:03d}/{name}"] = 1 + random.random(n)


def lines(base):
    """(command, arguments, ranks)"""
    small = "--c-out 3 --c-in 2 --seed 1,2 --replicas 2 --cell-streams independent"
    comma = f"{base}/a\\,b.nc"
    yield "chain", (
        "--preset thesis3 --width 6,7 --batch 4 --depth 5 --seed 18446744073709551615 --residual-strength 0.5,inf "
        "--weight-dist er-sign --keep-probability 0.3 --norm bn --order norm-act --act leaky-relu:0.2 --act-scale 1.5 "
        "--gain 1.5 --gain-exponent 0.5 --bn-eps 1e-5 --law pathwise --input near-collinear --input-epsilon 0.001 "
        "--observables soft_rank,numerical_rank --tau 0.3,0.6 --top 3 --rank-precision single --rank-tolerance 1e-7 "
        "--stride 1,soft_rank:2 --record every:2 --burn-in 1 --replicas 2 --cell-streams independent --time-limit 1h "
        "--checkpoint-every 7"), 1
    yield "chain", f"--depth 5 --seed 1 --weights {base}/a,b.nc --input {comma} --group-size 2", 2
    yield "chain", f"--depth 5 --seed 1 --input {comma}:/images --batch 4 --input-scale 0.5 --input-offset=-1", 2
    yield "chain", "--depth 5 --seed 1 --width 96 --batch 80 --input degenerate --input-distinct 70 --precision single --law pathwise", 1
    yield "gradient", (
        "--preset thesis3 --width 6,7 --batch 4 --depth 5 --seed 3 --residual-strength 0.5,inf --weight-dist er-sign "
        "--keep-probability 0.3 --norm bn --order norm-act --act leaky-relu:0.2 --act-scale 1.5 --gain 1.5 --gain-exponent 0.5 "
        "--bn-eps 1e-5 --law pathwise --input near-collinear --input-epsilon 0.001 --loss mse --readout normal --classes 3 "
        "--per-sample --jacobian 2 --isometry --record every:2 --segment 2 --replicas 2 --cell-streams independent "
        "--time-limit 1h --checkpoint-every 7"), 1
    yield "gradient", f"--depth 5 --seed 1 --weights {base}/a,b.nc --input {comma}", 2
    yield "gradient", (f"--depth 5 --seed 1 --input {comma}:/images --batch 4 --input-scale 0.5 --input-offset=-1 "
                       "--loss cross-entropy --labels dataset --classes 2"), 2
    yield "gradient", "--depth 5 --seed 1 --width 6 --batch 4 --norm rms --input degenerate --input-distinct 3 --group-size 1", 1
    yield "meanfield", ("--act hermite-sum:0,0.4,0.9,relu --variant pre-rms --rho0 0.25 --depth 7 --coefficients 5 --grid 11 "
                        "--batch 6 --width 64"), 1
    yield "spectrum", (f"{small} --kernel 1x2 --width-rule max --target-dist uniform --source-dist er-sign --keep-probability 0.6 "
                       "--excess 3 --kernel-split first --method svd --bins 5 --values 2 --time-limit 1h --checkpoint-every 7"), 1
    yield "spectrum", "--channels 3 --overparam 0.5 --seed 1 --method quadrature --probes 2 --steps 4 --reduction library", 2
    yield "spectrum", f"--target {base}/net.h5 --layer 1 --source {base}/pair.h5 --seed 1", 1
    yield "spectrum", "--c-out 2 --c-in 2 --features 5 --seed 1", 1
    yield "reconstruct", (
        f"{small} --kernel 1x2 --target-dist uniform --target-per-replica --source-dist er-sign --keep-probability 0.6 "
        "--residual inner --skip he-normal --skip-kernel target --width-rule max --overparam 0.5 --kernel-split first "
        "--solver lbfgs --solver-precision single --lbfgs-history 5 --max-iterations 20 --store-weights yes --bn-eps 1e-3 "
        "--precision single --save weights --time-limit 1h --checkpoint-every 7"), 1
    yield "reconstruct", (
        f"--target {base}/net.h5 --input-range=-1,2 --layers 1 --source {base}/pair.h5 --bn-statistics file --seed 1 "
        f"--dataset {base}/a,b.nc:/images --samples 5 --bound interval --features 9 --group-size 1"), 2
    yield "reconstruct", f"--target {base}/net.h5 --input-range=-1,2 --activation tanh --epsilon 0.01 --excess 30 --condition none --seed 1", 1
    yield "reconstruct", f"--target {base}/a,b.nc:kernel:0 --seed 1", 2
    yield "align", ("--c-out 3 --c-in 2 --kernel 1x2 --target-dist er-normal --target-density 0.5 --source-dist er-sign "
                    "--keep-probability 0.6 --features 4 --seed 1 --search greedy,random --random 20 --replicas 2"), 2
    yield "claims", "--claim thesis-c.20,rank20-56 --cases 8 --planted --depth quick --seed 1 --time-limit 1h --checkpoint-every 7", 2
    yield "bench", "--quick --only random --size 64 --channels 4 --seconds 0.01", 1


def configuration(path):
    with h5py.File(path) as f:
        text = f["configuration"][()]
    return text.decode() if isinstance(text, bytes) else text


def settings(text):
    """Options and values, without the output; None where an option has no value."""
    found = {}
    for line in text.replace("  # default", "").splitlines():
        given, unset = re.match(r"  ([a-z0-9-]+): (.*)$", line), re.match(r"  # ([a-z0-9-]+): not set", line)
        if given and given.group(1) != "output":
            found[given.group(1)] = given.group(2)
        elif unset:
            found[unset.group(1)] = None
    return found


def run(command, arguments, base, name, ranks, **more):
    return launch([command] + arguments + ["--force", "--quiet", "--output", f"{base}/{name}.h5"], ranks, **more)


def test_every_option(base):
    options, written_names = {}, {}
    for command in sorted({line[0] for line in lines(base)}) if ALL else ["chain"]:
        names = re.findall(r"^  --([a-z0-9-]+)", launch([command, "--help"]).stdout, re.MULTILINE)
        options[command] = set(names) - {"help", "output"}
    for number, (command, text, ranks) in enumerate(lines(base)):
        if command in written_names and not ALL:
            continue
        done = run(command, text.split(), base, "first", ranks)
        check(done.returncode == 0, f"{command} {text}: {done.returncode} {done.stderr}")
        if done.returncode != 0:
            continue
        written = configuration(f"{base}/first.h5")
        check("\n" + command + ":\n" in written, f"{command}: {written}")
        first = settings(written)
        given = {name for name in first if re.search(rf"(^|\s)--{name}(=|\s|$)", text)}
        options[command] = options.get(command, set()) - given
        written_names.setdefault(command, set()).update(first)
        with open(f"{base}/first.yaml", "w") as f:
            f.write(written)
        whole = f"{base}/first.yaml" if number % 2 else f"{base}/first.h5"
        done = run(command, ["--config", whole], base, "second", ranks)
        check(done.returncode == 0, f"{command} {text} from {whole}: {done.returncode} {done.stderr}")
        if done.returncode != 0:
            continue
        second = settings(configuration(f"{base}/second.h5"))
        check(second == first, f"{command} {text} from {whole}: {set(second.items()) ^ set(first.items())}")
        if command != "bench" and (ALL or command in ("chain", "reconstruct")):
            done = launch(["diff", f"{base}/first.h5", f"{base}/second.h5"])
            check(done.returncode == 0, f"{command} {text}: {done.stdout} {done.stderr}")
    for command, left in options.items():
        for name in sorted(left - ONLY_FLAGS) if ALL else ():
            print(f"norma {command} --{name} is in no line of this test")
            check(name in written_names[command], f"norma {command} --{name} is not written")
        check(not ONLY_FLAGS & written_names[command], f"{command}: {written_names[command]} are written")
        for name in some(sorted(left & ONLY_FLAGS), 2) if command == "chain" else ():
            with open(f"{base}/one.yaml", "w") as f:
                f.write(f"{command}:\n  {name}: 1\n")
            done = run(command, ["--dry-run", "--config", f"{base}/one.yaml"], base, "none", 1)
            check("belongs on the command line, not in a file" in done.stderr, f"{name}: {done.stderr}")


def test_sources(base):
    """The same configuration from standard input, a pipe and the result of another command."""
    text = "\ufeffchain:\n  width: 5\n  depth: 3\n  seed: 7\n"
    rest = ["--force", "--quiet", "--output", f"{base}/piped.h5"]
    for ranks in some((2, 1)):
        started = (MPIEXEC + ["-n", "2"] if ranks > 1 else []) + [NORMA, "chain", "--config", "-"] + rest
        done = subprocess.run(started, input=text, capture_output=True, text=True, timeout=100, check=False)
        check(done.returncode == 0 and settings(configuration(f"{base}/piped.h5"))["seed"] == "7",
              f"standard input on {ranks}: {done.stderr}")
        os.remove(f"{base}/piped.h5")
    done = subprocess.run(["bash", "-c", '"$0" "$@" --config <(sleep 0.2; printf "chain:\\n"; sleep 0.2; printf "  seed: 8\\n")',
                           NORMA, "chain", "--width", "5", "--depth", "3"] + rest,
                          capture_output=True, text=True, timeout=100, check=False)
    check(done.returncode == 0 and settings(configuration(f"{base}/piped.h5"))["seed"] == "8", f"a pipe: {done.stderr}")
    done = subprocess.run([NORMA, "chain", "--config", "-"] + rest, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=100, check=False)
    check(done.returncode == 2 and "standard input: gave no text" in done.stderr, f"no input: {done.stderr}")
    for ranks in some((2, 1)):
        done = run("spectrum", ["--config", f"{base}/piped.h5"], base, "none", ranks)
        check(done.returncode == 2 and "holds no configuration of norma spectrum" in done.stderr and
              done.stderr.count("error") == 1, f"of another command: {done.stderr}")
    with open(f"{base}/wide.yaml", "w", encoding="utf-16") as f:
        f.write("chain:\n  width: 5\n")
    done = run("chain", ["--config", f"{base}/wide.yaml"], base, "none", 1)
    check(done.returncode == 2 and "wide.yaml: is UTF-16; save it as UTF-8" in done.stderr, f"UTF-16: {done.stderr}")


def main():
    with folder() as base:
        write_files(base)
        test_every_option(base)
        test_sources(base)
    finish()


main()
