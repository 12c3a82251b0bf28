"""The sbatch scripts as Slurm runs them, a copy in a spool folder, with scontrol played by a script: originals,
program and results stand in folders with blanks."""
import os
import shutil
import signal
import subprocess

import h5py

from program import MPIEXEC, NORMA, SOURCE, check, finish, folder, wait_begun

SCONTROL = """#!/bin/sh
case "$1" in
show)
    echo "JobId=$SLURM_JOB_ID JobName=norma"
    echo "   StartTime=Unknown EndTime=Unknown Deadline=N/A"
    echo "   Command=$FAKE_COMMAND"
    ;;
requeue) echo "requeued $2" >>"$FAKE_LOG" ;;
esac
"""


# Keeps the name of Open MPI's folder of sessions.
PROGRAM = f"""#!/bin/sh
echo "$OMPI_MCA_orte_tmpdir_base" >>"$FAKE_SESSIONS"
exec '{NORMA}' "$@"
"""


def begin(base, script, command, arguments, **more):
    """A batch job of 2 ranks, whose number no other test of this machine uses."""
    copy = f"{base}/spool/slurm_script"
    shutil.copy(script, copy)
    flags = " ".join(MPIEXEC[MPIEXEC.index(next(a for a in MPIEXEC if a.endswith(("mpirun", "mpiexec")))) + 1:])
    environment = dict(os.environ, PATH=f"{base}/bin:" + os.environ["PATH"], SLURM_JOB_ID=str(os.getpid()), SLURM_NTASKS="2",
                       FAKE_COMMAND=command, FAKE_LOG=f"{base}/log", FAKE_SESSIONS=f"{base}/sessions",
                       NORMA=f"{base}/my programs/norma", NORMA_LAUNCHER="mpirun", NORMA_MPIRUN_FLAGS=flags, **more)
    return subprocess.Popen(["bash", copy] + arguments, cwd=f"{base}/work folder", env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process):
    process.stdout, process.stderr = process.communicate(timeout=100)
    return process


def start(*arguments, **more):
    return end(begin(*arguments, **more))


def check_sessions(base):
    """Each job has a folder of sessions of its own, which its number names, and removes it."""
    with open(f"{base}/sessions") as f:
        names = set(f.read().split("\n")) - {""}
    check(len(names) == 1, f"folders of sessions: {names}")
    for name in names:
        check(name.endswith(f"/norma-{os.getpid()}"), f"the folder of sessions is {name}")
        check(not os.path.exists(name), f"{name} is left")


def check_cancelled(base):
    """SIGTERM to a job without an end: its state is saved, and it is not requeued."""
    script = f"{base}/my scripts/slurm/chain.sbatch"
    endless = ["--width", "64", "--depth", "1e7", "--record", "log", "--time-limit", "60s", "--seed", "1", "--output", "endless.h5"]
    job = begin(base, script, script, endless)
    wait_begun(job, f"{base}/work folder/endless.h5")
    job.send_signal(signal.SIGTERM)
    end(job)
    check(job.returncode == 75 and "cancelled with its state saved" in job.stderr, f"cancelled: {job.returncode} {job.stderr}")


def main():
    with folder() as base:
        for name in ("bin", "spool", "my programs", "work folder"):
            os.mkdir(f"{base}/{name}")
        shutil.copytree(f"{SOURCE}/slurm", f"{base}/my scripts/slurm")
        for path, text in ((f"{base}/my programs/norma", PROGRAM), (f"{base}/bin/scontrol", SCONTROL)):
            with open(path, "w") as f:
                f.write(text)
            os.chmod(path, 0o755)
        runs = {"chain": ["--width", "4", "--depth", "3", "--seed", "1", "--output", "a result.h5"],
                "network": ["--c-out", "2", "--c-in", "2", "--seed", "1", "--output", "another result.h5"]}
        for name, arguments in runs.items():
            script = f"{base}/my scripts/slurm/{name}.sbatch"
            # Slurm shows the arguments too, or not, by version.
            command = script + " " + " ".join(arguments) if name == "chain" else script
            done = start(base, script, command, arguments)
            check(done.returncode == 0, f"{name}: {done.returncode} {done.stderr}")
            with h5py.File(f"{base}/work folder/{arguments[-1]}") as f:
                check(f.attrs["status"] in ("complete", b"complete"), f"{name}: {f.attrs['status']}")
        script = f"{base}/my scripts/slurm/sweep.sbatch"
        arguments = ["spectrum", "--c-out", "2", "--c-in", "2", "--excess", "0,1,2", "--seed", "1", "--output", "a sweep.h5"]
        array = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "3",
                 "SLURM_ARRAY_TASK_COUNT": "3"}
        done = start(base, script, script, arguments, **array)
        check(done.returncode == 0, f"sweep: {done.returncode} {done.stderr}")
        with h5py.File(f"{base}/work folder/a sweep-2.h5") as f:
            check(list(f["cell"][...]) == [1], f"cells of task 2: {f['cell'][...]}")
        done = start(base, script, script, arguments)
        check(done.returncode == 2 and "not a task of an array" in done.stderr, f"no array: {done.stderr}")
        done = start(base, script, script, arguments[:-4] + ["--output", "b.h5"], **array)
        check(done.returncode == 2 and "--seed" in done.stderr, f"no seed: {done.stderr}")
        with open(f"{base}/work folder/a sweep.yaml", "w") as f:
            f.write("spectrum:\n  c-out: 2\n  c-in: 2\n  excess: [0, 1, 2]\n  seed: 1\n  output: \"c.h5\"  # of all tasks\n")
        done = start(base, script, script, ["spectrum", "--config", "a sweep.yaml"], **array)
        check(done.returncode == 0, f"sweep of a YAML file: {done.returncode} {done.stderr}")
        with h5py.File(f"{base}/work folder/c-2.h5") as f, h5py.File(f"{base}/work folder/a sweep-2.h5") as g:
            check((f["sigma_min"][...] == g["sigma_min"][...]).all(), "seed and output of a YAML file")
        done = start(base, script, script, ["spectrum", "--config", "a sweep.yaml"], **array)
        check(done.returncode == 2 and "exists with status complete" in done.stderr, f"a complete file: {done.stderr}")
        check_cancelled(base)
        check(not os.path.exists(f"{base}/log"), "nothing is requeued")
        check_sessions(base)
    finish()


main()
