"""Ends that had no message: ranks with different arguments, an output that is a
symbolic link, a pipe that is closed, a limit of file sizes, memory that Slurm gives; help and version without MPI."""
import os
import resource
import subprocess
import sys

from program import MPIEXEC, NORMA, check, finish, folder, launch, some

RUN = ["chain", "--width", 8, "--batch", 4, "--depth", 20, "--seed", 1]


def command(arguments, ranks):
    """One of several commands of an mpirun, `ranks` times."""
    return ["-n", str(ranks), NORMA] + [str(a) for a in arguments]


def start(*parts):
    line = MPIEXEC + parts[0]
    for part in parts[1:]:
        line += [":"] + part
    return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)


def test_arguments(base):
    output = ["--output", f"{base}/one.h5"]
    for other in some((RUN[:-1] + [2] + output, ["--help"], ["chain", "--help"], ["--version"]), 2):
        done = start(command(RUN + output, 1), command(other, 1))
        check(done.returncode == 2 and done.stderr.count("error") == 1 and
              "rank 1 was started with other arguments than rank 0" in done.stderr,
              f"{other}: {done.returncode} {done.stderr}")
    check(not os.path.exists(f"{base}/one.h5"), "nothing is written")


def test_link(base):
    os.mkdir(f"{base}/store")
    os.symlink("store/real.h5", f"{base}/link.h5")
    for ranks in some((2, 1)):
        done = launch(RUN + ["--force", "--output", f"{base}/link.h5"], ranks)
        check(done.returncode == 0 and os.path.islink(f"{base}/link.h5") and
              os.listdir(f"{base}/store") == ["real.h5"] and not os.path.islink(f"{base}/store/real.h5"),
              f"link on {ranks}: {done.returncode} {done.stderr} {os.listdir(base)}")
    os.symlink("circle.h5", f"{base}/circle.h5")
    done = launch(RUN + ["--output", f"{base}/circle.h5"], 2)
    check(done.returncode == 2 and "circle" in done.stderr, f"circle: {done.returncode} {done.stderr}")


def test_pipe(base):
    with subprocess.Popen([NORMA] + [str(a) for a in RUN + ["--output", f"{base}/pipe.h5"]],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        error = process.stderr.read()
    check(process.returncode == 5 and "standard output cannot be written" in error and
          os.path.exists(f"{base}/pipe.h5"), f"pipe: {process.returncode} {error}")


def test_pipe_of_a_rank(base):
    """Under mpirun: standard output of rank 0 is a pipe without a reader, and SIGPIPE reaches a rank."""
    script = ("import os, signal, sys\n"
              "if os.environ['OMPI_COMM_WORLD_RANK'] == '0':\n"
              "    there, here = os.pipe()\n"
              "    os.close(there)\n"
              "    os.dup2(here, 1)\n"
              "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
              "os.execv(sys.argv[1], sys.argv[1:])\n")
    done = subprocess.run(MPIEXEC + ["-n", "2", sys.executable, "-c", script, NORMA] +
                          [str(a) for a in RUN + ["--output", f"{base}/broken.h5"]],
                          capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 5 and done.stderr.count("error: standard output cannot be written") == 1,
          f"pipe of rank 0: {done.returncode} {done.stderr}")
    info = launch(["info", f"{base}/broken.h5"])
    check(info.returncode == 0 and "complete" in info.stdout.splitlines()[1], f"the result is published: {info.stderr}")


def test_file_limit(base):
    """SIGXFSZ: a limit of the size of files, below and above what MPI itself needs; on 1 rank."""
    long_run = ["chain", "--width", "8", "--batch", "4", "--depth", "20000", "--seed", "1", "--record", "all",
                "--output", f"{base}/large.h5"]
    for limit in 40 << 10, 400 << 10:
        done = subprocess.run([NORMA] + long_run, capture_output=True, text=True, timeout=60, check=False,
                              preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        check(done.returncode == 5 and done.stderr.count("norma: error") == 1 and "large.h5" in done.stderr and
              f"limited to {limit} bytes (ulimit -f)" in done.stderr, f"limit {limit}: {done.returncode} {done.stderr}")
        check(not os.path.exists(f"{base}/large.h5"), "no result")


def test_environment(base):
    done = launch(RUN + ["--output", f"{base}/end.h5"], environment={"SLURM_JOB_END_TIME": "1000000000"})
    check(done.returncode == 0 and "SLURM_JOB_END_TIME" in done.stderr, f"end: {done.returncode} {done.stderr}")
    for name, value in some((("SLURM_MEM_PER_CPU", "10"), ("SLURM_MEM_PER_NODE", "20"))):
        done = launch(["chain", "--width", 900, "--seed", 1, "--output", f"{base}/memory.h5"], 2,
                      environment={name: value, "SLURM_CPUS_ON_NODE": "2"})
        check(done.returncode == 3 and "20.00 MiB" in done.stderr, f"{name}: {done.returncode} {done.stderr}")


def test_texts(base):
    """Without a launcher these do not start MPI."""
    broken = {"OMPI_MCA_pml": "none_such", "PMIX_MCA_psec": "none_such"}
    for arguments in some((["chain", "--help"], ["--version"], ["--help"], ["plan", "chain", "--help"])):
        done = launch(arguments, environment=broken)
        check(done.returncode == 0 and len(done.stdout) > 100 and not done.stderr,
              f"{arguments}: {done.returncode} {done.stderr}")
        check("norma" in launch(arguments, 2).stdout, f"{arguments} on 2 ranks")
    launch(RUN + ["--output", f"{base}/file.h5"])
    for arguments, code in some(((["info", f"{base}/file.h5"], 0), (["info", f"{base}/none.h5"], 2), (["list", "laws"], 0))):
        alone = launch(arguments, environment=broken)
        check(alone.returncode == code and alone.stdout == launch(arguments, 2).stdout,
              f"{arguments}: {alone.returncode} {alone.stderr}")


def main():
    # One rank as a user starts it: Open MPI begins a daemon beside it, which other tests leave out.
    os.environ.pop("OMPI_MCA_ess_singleton_isolated", None)
    with folder() as base:
        test_arguments(base)
        test_link(base)
        test_pipe(base)
        test_pipe_of_a_rank(base)
        test_file_limit(base)
        test_environment(base)
        test_texts(base)
    finish()


main()
