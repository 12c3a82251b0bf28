"""norma claims: verdicts as derived by hand, with several seeds; every planted version that is off by 1% is found; worst
cases of the result file re-evaluated in numpy; the same bits on any number of ranks and after a stop; the full depth;
the table; wrong input. With the argument `all` more seeds.

Chance: a look at a true claim beyond 5 standard errors has a probability below 5.8e-7. The seeds are fixed."""
import math
import os
import time

import h5py
import numpy as np

import claims_numpy
import program

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
FEW = "thesis-4.3-bound,thesis-c.8,rank20-7,rank20-15-soft,thesis-6.5"
DEEP = "thesis-4.3-bound,thesis-c.15,rank20-8,exp23-9"


def some_claims():
    """The option for the claims that are looked at: every fourth and FEW, with the argument `all` every one."""
    if program.ALL:
        return []
    names = [line.split()[0] for line in program.launch(["list", "claims"]).stdout.splitlines() if line.strip()]
    program.check(len(names) > 50, f"list: {names}")
    return ["--claim", ",".join(dict.fromkeys(names[::4] + FEW.split(",")))]


CLAIMS = some_claims()


def run(label, arguments, out, ranks=1):
    done = program.launch(["claims", *arguments, "--output", out, "--force"], ranks, environment=ONE_THREAD)
    program.check(done.returncode == 0, f"{label}: exit {done.returncode}: {done.stderr}")
    return done


def values(path):
    """Everything but provenance: datasets and attributes of the claims."""
    found = {}
    with h5py.File(path) as f:
        for name, claim in f["claims"].items():
            found[name] = {key: value for key, value in claim.attrs.items() if not key.startswith("_")}
            found[name].update({key: claim[key][()] for key in ("left", "right", "error", "replicas", "worst")
                                if key in claim})
    return found


def same(label, a, b):
    program.check(a.keys() == b.keys(), f"{label}: other claims")
    for name, claim in a.items():
        for key, value in claim.items():
            equal = np.array_equal(value, b[name][key], equal_nan=not isinstance(value, str))
            program.check(equal, f"{label}: {name}/{key} is {b[name][key]}, expected {value}")


def check_mean(label, name, claim, case):
    """The left side of a claim on means by replicas of numpy, which may be off by 6 standard errors."""
    got = claims_numpy.mean(name, case, int(claim["worst_rows"]), int(claim["worst_columns"]))
    if got is not None:
        allowed = 6 * np.hypot(got[1], float(claim["worst_error"]))
        program.check(abs(got[0] - float(claim["worst_left"])) <= allowed,
                      f"{label}: left side of {name} is {claim['worst_left']}, numpy has {got[0]}, tolerance {allowed}")


def check_numpy(label, claims):
    """Both sides of the worst case, from the file."""
    n = 0
    for name, claim in claims.items():
        if claim.get("n_met", 0) == 0:
            continue
        count = int(claim["worst_numbers"])
        case = claim["worst"][:count]
        if claim["worst_error"] != 0:
            check_mean(label, name, claim, case)
            continue
        program.check(np.all(np.isfinite(case)), f"{label}: {name} has no worst case")
        got = claims_numpy.sides(name, case, int(claim["worst_rows"]), int(claim["worst_columns"]))
        if got is None:
            continue
        n += 1
        for side, value in zip(("left", "right"), got):
            expected = float(claim["worst_" + side])
            allowed = 1e-8 * max(abs(value), abs(expected)) + 2 * float(claim["worst_rounding"]) + 1e-9
            program.check(abs(value - expected) <= allowed,
                          f"{label}: {side} side of {name} is {expected}, numpy has {value}, tolerance {allowed}")
    program.check(n >= len(set(claims_numpy.SIDES) & set(claims)) - 2, f"{label}: numpy evaluated {n} claims")


def check_verdicts(folder):
    for seed in program.some(range(1, 4)):
        out = os.path.join(folder, f"c{seed}.h5")
        done = run(f"seed {seed}", [*CLAIMS, "--seed", seed], out)
        wrong = [line for line in done.stdout.splitlines() if line.endswith("  unexpected")]
        program.check("\n# 0 unexpected" in done.stdout, f"seed {seed}: {wrong}")
        claims = values(out)
        check_numpy(f"seed {seed}", claims)
        for name, claim in claims.items():
            if claim["verdict"] != "not-covered":
                random = np.any(claim["error"] > 0) or claim["n_looks"] > 0
                program.check(random or claim["n_cases"] >= 200, f"{name}: {claim['n_cases']} cases")
                met = np.isfinite(claim["left"])
                program.check(np.array_equal(met, claim["replicas"] >= (1024 if random else 1)), f"{name}: replicas")
                least = np.sum(claim["replicas"][met])
                program.check(claim["n_samples"] >= least if random else claim["n_samples"] >= claim["n_met"],
                              f"{name}: {claim['n_samples']} evaluations")


def miss(claim, most=262144, errors=5):
    """The probability that no look at a planted claim on means finds it: the product over its cases. Equalities are off by
    1%; the means of others are taken to be 2 of their errors worse than they were measured."""
    probability = 1.0
    for left, right, error, n in zip(*(claim.get(key, []) for key in ("left", "right", "error", "replicas"))):
        if n < 1024 or not np.isfinite(left):
            continue
        difference = abs(right) * 0.01 / 1.01 if claim["relation"] == "=" else left - right - 2 * error
        if error <= 0:
            probability *= difference <= 0
            continue
        expected = difference / error * np.sqrt(most / n)
        probability *= 0.5 * math.erfc((expected - errors) / math.sqrt(2))
    return probability if "replicas" in claim and np.nanmax(claim["replicas"]) >= 1024 else 0.0


def check_planted(folder):
    for seed in program.some(range(1, 4)):
        out = os.path.join(folder, f"p{seed}.h5")
        done = run(f"planted {seed}", [*CLAIMS, "--planted", "--seed", seed], out)
        wrong = [line for line in done.stdout.splitlines() if line.endswith("  unexpected")]
        program.check("\n# 0 unexpected" in done.stdout, f"planted {seed}: not found: {wrong}")
        found = values(out)
        program.check(any(claim["verdict"] == "violated" for claim in found.values()), "planted: none violated")
        for name, claim in found.items():
            missed = miss(claim)
            program.check(missed < 1e-6, f"planted {seed}: {name} is missed with a probability of {missed:.2g}")


def check_ranks(folder):
    one = os.path.join(folder, "one.h5")
    run("one rank", ["--claim", FEW, "--cases", 40, "--seed", 5], one)
    for ranks in program.some((3, 2)):
        out = os.path.join(folder, f"r{ranks}.h5")
        run(f"{ranks} ranks", ["--claim", FEW, "--cases", 40, "--seed", 5], out, ranks)
        same(f"{ranks} ranks", values(one), values(out))
    every = os.path.join(folder, "all.h5")
    run("more claims", [*CLAIMS, "--cases", 40, "--seed", 5], every)
    alone = values(every)
    same("beside other claims", values(one), {name: alone[name] for name in values(one)})


def check_resume(folder):
    straight, stopped = (os.path.join(folder, name) for name in ("straight.h5", "stopped.h5"))
    command = ["--claim", FEW, "--cases", 400, "--seed", 6]
    run("straight", command, straight)
    program.stop_and_resume(["claims", *command, "--output", stopped], 1, ONE_THREAD)
    same("resumed", values(straight), values(stopped))


def check_full(folder):
    """Some claims in larger cases, whose search is as long as ever. A block that a signal ends is computed anew."""
    out = os.path.join(folder, "full.h5")
    done = run("full", ["--depth", "full", "--claim", DEEP, "--cases", 4, "--seed", 8], out)
    program.check("\n# 0 unexpected" in done.stdout, f"full: {done.stdout}")
    claims = values(out)
    check_numpy("full", claims)
    program.check(max(claim["worst_rows"] for claim in claims.values()) > 8, "full: no larger case is the worst one")
    if not program.ALL:
        return
    straight, stopped = (os.path.join(folder, name) for name in ("deep.h5", "deep_stopped.h5"))
    command = ["--depth", "full", "--claim", "rank20-4,thesis-c.15", "--cases", 12, "--seed", 9]
    run("straight", command, straight)
    program.stop_and_resume(["claims", *command, "--output", stopped], 1, ONE_THREAD)
    same("resumed in the full depth", values(straight), values(stopped))


def check_table(folder):
    table, out = os.path.join(folder, "t.md"), os.path.join(folder, "t.h5")
    arguments = ["--claim", FEW, "--cases", 40, "--seed", 7, "--table", table]
    run("table", arguments[:-2] + ["--table", table], out)
    with open(table, encoding="utf-8") as f:
        lines = f.read().splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    program.check(len(rows) == 2 + len(FEW.split(",")), f"table of {len(rows)} lines")
    program.check(len({line.replace("\\|", "").count("|") for line in rows}) == 1, "the table's columns differ")
    again = program.launch(["claims", *arguments, "--output", os.path.join(folder, "u.h5")], environment=ONE_THREAD)
    program.check(again.returncode == 2 and "--force" in again.stderr, f"an existing table: {again.stderr}")
    absent = os.path.join(folder, "none", "t.md")
    again = program.launch(["claims", "--claim", "thesis-c.20", "--seed", 1, "--table", absent, "--output", out,
                            "--force"], environment=ONE_THREAD)
    program.check(again.returncode == 5 and absent in again.stderr, f"no such folder: {again.stderr}")


def check_refusals(folder):
    for arguments, word in program.some(((["--claim", "thesis-9"], "claim"), (["--cases", 3], "cases"),
                                         (["--depth", "long"], "depth"))):
        done = program.launch(["claims", *arguments, "--output", os.path.join(folder, "n.h5")])
        program.check(done.returncode == 2 and word in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
    done = program.launch(["plan", "claims", "--depth", "full", "--seed", 1])
    program.check(done.returncode == 0 and "blocks of cases" in done.stdout, f"plan: {done.stderr}")
    # 4 blocks of 50 cases and 1000 steps; 800 cases with 4194304 replicas
    for depth, claim, count in program.some((("quick", "thesis-4.3-bound", "4.2e+03"), ("full", "rank20-4", "3.36e+09")), 2):
        done = program.launch(["plan", "claims", "--depth", depth, "--claim", claim, "--seed", 1])
        program.check(f"up to {count} evaluations" in done.stdout, f"plan of {claim}: {done.stdout}")


def main():
    for check in (check_verdicts, check_planted, check_ranks, check_resume, check_full, check_table, check_refusals):
        if check is check_resume and not program.ALL:
            continue
        begun = time.monotonic()
        with program.folder() as folder:
            check(folder)
        print(f"{check.__name__}: {time.monotonic() - begun:.1f} s")
    program.finish()


if __name__ == "__main__":
    main()
