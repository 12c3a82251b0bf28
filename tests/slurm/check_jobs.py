"""The shipped sbatch scripts on a real Slurm of two nodes: every script ends with the result of a run without Slurm,
under srun and mpirun, on one node and on two; a chain of a million layers in several goes; the time limit; scancel; a
killed rank; a sweep as an array; a node that is drained and resumed.

Where the daemons cannot run (no root, no packages) the test ends with 77; with NORMA_TEST_SLURM=must it fails."""
import os
import signal
import subprocess
import sys
import time

import h5py

sys.path.insert(0, os.path.join(os.environ["NORMA_SOURCE"], "tests", "experiments"))

from cluster import Cluster, NotStarted, missing  # noqa: E402
from program import NORMA, SOURCE, check, finish, launch  # noqa: E402

SCRIPTS = f"{SOURCE}/slurm"

# Each script, launcher and number of nodes, with its YAML file made small, and the subcommand whose run without Slurm
# has the same bits. Solutions depend on the ranks in their last bits: there the residual is looked at.
ENDS = [
    ("chain", "mpirun", 1, ["--width", "4,8", "--depth", "300"], "chain"),
    ("chain", "srun", 2, ["--width", "4,8", "--depth", "300"], "chain"),
    ("network", "mpirun", 2, ["--samples", "20", "--target", f"{SOURCE}/experiments/data/fashion_cnn_w16_relu.h5"], None),
    ("layer", "srun", 2, ["--c-out", "6", "--c-in", "5"], None),
    ("spectrum", "mpirun", 1, ["--channels", "4", "--overparam", "0,0.5", "--replicas", "2"], "spectrum"),
    ("gradient", "srun", 1, ["--width", "8,12", "--batch", "4", "--depth", "20", "--replicas", "3"], "gradient"),
]
MILLION = ["--width", "24,32", "--depth", "1e6", "--replicas", "1", "--seed", "3", "--record", "log"]
ENDLESS = ["--width", "32", "--depth", "1e7", "--replicas", "2", "--seed", "4"]
SWEEP = ["--width", "4,6,8", "--depth", "50,100", "--residual-strength", "inf,0.1", "--replicas", "2"]


class Straight:
    """Runs without Slurm, beside the jobs."""

    def __init__(self, folder):
        self.folder, self.running = folder, []

    def start(self, name, arguments):
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        self.running.append((name, subprocess.Popen(
            [NORMA, *arguments, "--quiet", "--output", f"{self.folder}/{name}.straight.h5"], cwd=self.folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)))

    def wait(self):
        for name, process in self.running:
            _, error = process.communicate(timeout=300)
            check(process.returncode == 0, f"{name} without Slurm: {process.returncode} {error}")

    def compare(self, name, output):
        done = launch(["diff", f"{self.folder}/{name}.straight.h5", f"{self.folder}/{output}"])
        check(done.returncode == 0, f"{output} and the run without Slurm: {done.stdout}{done.stderr}")
        say(f"{output}: {(done.stdout + done.stderr).strip().splitlines()[-1]}")


BEGUN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGUN:4.0f} s: {text}", flush=True)


def solved(path):
    """A complete file of reconstruct whose systems are solved."""
    check(os.path.exists(path), f"{path} is not there")
    if not os.path.exists(path):
        return
    with h5py.File(path) as f:
        status, residual = f.attrs["status"], f["relative_residual"][...].max()
    check(status in ("complete", b"complete") and residual < 1e-11, f"{path}: {status}, residual {residual}")
    say(f"{os.path.basename(path)}: relative residual {residual:.1e}")


def begun(cluster, job, count):
    """All ranks of the job take signals."""
    cluster.wait_for(lambda: len(cluster.ranks(job)) == count or cluster.state(job) in ("FAILED", "COMPLETED"),
                     f"job {job} did not begin: {cluster.log(job)}")
    check(len(cluster.ranks(job)) == count, f"job {job} did not stay: {cluster.state(job)} {cluster.log(job)}")


def in_goes(cluster, job, deeds):
    """Ends the goes of a job of two ranks one after another by the deeds; then lets it finish."""
    for go, deed in enumerate(deeds):
        cluster.wait_for(lambda go=go: f"go {go + 1}\n" in cluster.log(job), f"go {go + 1} of job {job}: {cluster.log(job)}")
        begun(cluster, job, 2)
        deed(job)
        cluster.wait_for(lambda go=go: int(cluster.show(job)[0]["Restarts"]) == go + 1,
                         f"job {job} was not requeued: {cluster.log(job)}")


def end(cluster, job, expected="COMPLETED"):
    found = cluster.wait_end(job)
    check(all(state == expected for state, _ in found), f"job {job}: {found}, expected {expected}: {cluster.log(job)}")


def cancel(cluster, job):
    cluster.run("scancel", job)
    end(cluster, job, "CANCELLED")


def walk(cluster):
    folder = cluster.folder
    straight = Straight(folder)
    submit = cluster.submit

    # Slurm warns a job of one minute at its next look at the clock, within half a minute.
    limited = submit("--time", 1, "-n", 1, f"{SCRIPTS}/chain.sbatch", *ENDLESS, "--output", "limited.h5", NORMA_LAUNCHER="mpirun")
    million = submit("-n", 2, f"{SCRIPTS}/chain.sbatch", *MILLION, "--output", "million.h5", NORMA_LAUNCHER="srun",
                     NORMA_START_SECONDS="0")
    straight.start("million", ["chain", *MILLION])

    # The node n2 runs one job to its end while it is drained, and no other before it is resumed.
    killed = submit("-w", "n2", "-n", 2, f"{SCRIPTS}/chain.sbatch", *ENDLESS, "--output", "killed.h5", NORMA_LAUNCHER="srun")
    begun(cluster, killed, 2)
    cluster.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    waiting = submit("-w", "n2", "-n", 1, f"{SCRIPTS}/chain.sbatch", "--config", f"{SCRIPTS}/chain.yaml", *ENDS[0][3],
                     "--output", "waiting.h5")

    def save(job):
        cluster.run("scancel", "--batch", "--signal=USR1", job)

    in_goes(cluster, million, [save, lambda job: cluster.run("scontrol", "requeue", job), save])
    say("three goes ended early")

    cluster.wait_for(lambda: int(cluster.show(limited)[0]["Restarts"]) >= 1, f"the time limit: {cluster.log(limited)}")
    check("stopped by SIGUSR1, state saved" in cluster.log(limited), f"the time limit: {cluster.log(limited)}")
    cancel(cluster, limited)

    check(cluster.state(killed) == "RUNNING", f"a job of a draining node: {cluster.state(killed)}")
    check(cluster.state(waiting) == "PENDING", f"a job for a drained node: {cluster.state(waiting)}")
    os.kill(cluster.ranks(killed)[0], signal.SIGKILL)
    found = cluster.wait_end(killed)
    check(found[0][0] == "FAILED", f"a job whose rank was killed: {found} {cluster.log(killed)}")
    cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")

    say("drained and resumed")

    # The same job, submitted again, continues; cancelled, it stays so.
    for launcher in ("srun", "mpirun"):
        job = submit("-n", 2, f"{SCRIPTS}/chain.sbatch", *ENDLESS, "--output", "killed.h5", NORMA_LAUNCHER=launcher)
        begun(cluster, job, 2)
        check("continues from what an earlier go saved" in cluster.log(job), f"submitted again: {cluster.log(job)}")
        cancel(cluster, job)
        check(int(cluster.show(job)[0]["Restarts"]) == 0, f"a cancelled job came back: {cluster.log(job)}")

    say("cancelled")

    # An array of five tasks.
    array = submit("--array=1-5", "-n", 1, f"{SCRIPTS}/sweep.sbatch", "chain", "--config", f"{SCRIPTS}/sweep.yaml", *SWEEP)
    straight.start("sweep", ["chain", "--config", f"{SCRIPTS}/sweep.yaml", *SWEEP])
    jobs = []
    for number, (name, launcher, nodes, small, command) in enumerate(ENDS):
        arguments = ["--config", f"{SCRIPTS}/{name}.yaml", *small]
        output = f"{number}.{name}.h5"
        jobs.append((submit("-N", nodes, "-n", 2, f"--ntasks-per-node={2 // nodes}", f"{SCRIPTS}/{name}.sbatch", *arguments,
                            "--output", output, NORMA_LAUNCHER=launcher), str(number), output, command))
        if command:
            straight.start(str(number), [command, *arguments])
    for job in [*[job[0] for job in jobs], array, waiting, million]:
        end(cluster, job)
    say("all jobs ended")
    straight.wait()
    for _, name, output, command in jobs:
        if command:
            straight.compare(name, output)
        else:
            solved(f"{folder}/{output}")
    straight.compare("0", "waiting.h5")
    straight.compare("million", "million.h5")
    goes = cluster.log(million).count("ranks of 1 threads on")
    check(goes >= 4, f"{goes} goes: {cluster.log(million)}")
    say(f"a chain of a million layers in {goes} goes")
    done = launch(["merge", f"{folder}/sweep.h5", *[f"{folder}/sweep-{i}.h5" for i in range(1, 6)]])
    check(done.returncode == 0, f"merge: {done.stderr}")
    straight.compare("sweep", "sweep.h5")


def main():
    must = os.environ.get("NORMA_TEST_SLURM") == "must"
    reason = missing()
    if not reason:
        try:
            with Cluster() as cluster:
                cluster.environment["NORMA"] = NORMA
                say("Slurm runs")
                try:
                    walk(cluster)
                except BaseException:
                    print(cluster.logs())
                    raise
        except NotStarted as problem:
            reason = f"Slurm's daemons do not run here: {problem}"
    if reason:
        print(f"NOT TESTED on a real Slurm: {reason}")
        sys.exit(1 if must else 77)
    say("done")
    finish()


if __name__ == "__main__":
    main()
