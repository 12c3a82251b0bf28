"""A Slurm of two nodes on this machine: munged, slurmctld and two slurmd as root, in a folder and on ports of their
own. All of its processes end with it."""
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel", "squeue")
NODES = ("n1", "n2")
CPUS = 16  # of a node, by its own account: jobs of the test run beside each other
# A requeued job waits for as long as the credential of its last start is valid, in seconds.
REQUEUE_WAIT = 6

CONFIGURATION = """
ClusterName=norma
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire={wait}
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
MinJobAge=3600
FirstJobId={first_job}
KillWait=10
MessageTimeout=60
TCPTimeout=30
SlurmdTimeout=3000
BatchStartTimeout=60
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,bf_max_job_test=100
SlurmdParameters=config_overrides
TmpFS={folder}/tmp.%n
"""


def end_with_parent():
    """A test that is killed takes its daemons along (PR_SET_PDEATHSIG of prctl)."""
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM)


class NotStarted(Exception):
    """The daemons cannot run here; the text says why."""


def missing():
    """Why there cannot be a Slurm on this machine, or an empty text."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    names = [name for name in DAEMONS if not shutil.which(name, path=path)]
    return f"not installed: {', '.join(names)} (Debian: slurmctld slurmd slurm-client munge)" if names else ""


def free_ports(count):
    """Numbers of TCP ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """with Cluster() as cluster: cluster.submit(...)"""

    def __init__(self):
        # Sockets have short paths.
        self.folder = tempfile.mkdtemp(prefix="slurm_", dir=os.environ.get("NORMA_TEST_SLURM_FOLDER", "/tmp"))
        self.daemons = []
        # Jobs see the environment that a user would have: nothing of the test's own MPI settings.
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin", "HOME": self.folder, "LANG": "C.UTF-8",
            "TMPDIR": self.folder, "SLURM_CONF": f"{self.folder}/slurm.conf",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HWLOC_HIDE_ERRORS": "2",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
        for name in ("OPENBLAS_CORETYPE", "NORMA_DATA", "LD_LIBRARY_PATH"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _daemon(self, *command):
        with open(f"{self.folder}/{os.path.basename(command[0])}.out", "a", encoding="utf-8") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.folder,
                                       env=self.environment, start_new_session=True, preexec_fn=end_with_parent)
        self.daemons.append(process)
        return process

    def _wait(self, condition, what, limit):
        end = time.monotonic() + limit
        while not condition():
            for process in self.daemons:
                if process.poll() is not None:
                    raise NotStarted(f"{process.args[0]} ended with {process.returncode}\n{self.logs()}")
            if time.monotonic() > end:
                raise NotStarted(f"{what} within {limit} s\n{self.logs()}")
            time.sleep(0.1)

    def _start(self):
        os.chmod(self.folder, 0o755)
        for name in ("state", *[f"{kind}.{node}" for node in NODES for kind in ("spool", "tmp")]):
            os.mkdir(f"{self.folder}/{name}")
        ports = free_ports(1 + len(NODES))
        with open(f"{self.folder}/slurm.conf", "w", encoding="utf-8") as f:
            f.write(CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.folder,
                                         control_port=ports[0], wait=REQUEUE_WAIT,
                                         # Open MPI names shared memory by host and job: two tests share a machine.
                                         first_job=1000 + int.from_bytes(os.urandom(3), "big")))
            for node, port in zip(NODES, ports[1:]):
                f.write(f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} State=UNKNOWN\n")
            f.write(f"PartitionName=test Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP\n")
        # The plugin that does nothing before somebody uses it: there may be no control groups, or none to write to.
        with open(f"{self.folder}/cgroup.conf", "w", encoding="utf-8") as f:
            f.write("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        with open(f"{self.folder}/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(f"{self.folder}/munge.key", 0o600)
        self._daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket",
                     f"--key-file={self.folder}/munge.key", f"--pid-file={self.folder}/munge.pid",
                     f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
        self._wait(lambda: os.path.exists(f"{self.folder}/munge.socket"), "munged made no socket", 30)
        self._daemon("slurmctld", "-D", "-c")
        for node in NODES:
            self._daemon("slurmd", "-D", "-N", node)
        self._wait(self._is_ready, "the nodes were not idle", 90)
        done = self.run("srun", "--mpi=pmix", "-N", str(len(NODES)), "-n", str(len(NODES)), "true", check=False)
        if done.returncode != 0:
            raise NotStarted(f"srun starts no ranks with PMIx (Debian: libpmix-dev)\n{done.stderr}\n{self.logs()}")

    def _is_ready(self):
        shown = self.run("sinfo", "--noheader", "--Node", "--format=%N %T", check=False).stdout.split("\n")
        return all(f"{node} idle" in shown for node in NODES)

    def run(self, *command, check=True, timeout=120, **environment):
        """A command of Slurm's clients."""
        done = subprocess.run(command, env={**self.environment, **environment}, capture_output=True, text=True,
                              timeout=timeout, check=False, cwd=self.folder)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.logs()}")
        return done

    def submit(self, *arguments, **environment):
        """sbatch with these arguments: the number of the job."""
        return self.run("sbatch", "--parsable", *[str(a) for a in arguments], **environment).stdout.strip()

    def show(self, job):
        """The fields that scontrol shows of each task of a job."""
        text = self.run("scontrol", "show", "job", "--oneliner", job).stdout
        return [dict(re.findall(r"(\w+(?:/\w+)?)=(\S*)", line)) for line in text.splitlines() if line.strip()]

    def state(self, job):
        """State of a job that is no array, such as RUNNING."""
        return self.show(job)[0]["JobState"]

    def wait_for(self, condition, what, limit=240):
        """Waits until the condition holds; an exception behind `limit` seconds, by far more than it takes."""
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"HANG: {what} within {limit} s\n{self.logs()}")
            time.sleep(0.2)

    def wait_end(self, job, limit=240):
        """Waits for the end of a job; returns its tasks' states and exit codes, such as ('COMPLETED', '0:0')."""
        def ended():
            return all(task["JobState"] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED")
                       for task in self.show(job))
        self.wait_for(ended, f"job {job} did not end", limit)
        return [(task["JobState"], task["ExitCode"]) for task in self.show(job)]

    def ranks(self, job):
        """Processes of norma in this job that handle SIGUSR1 by now."""
        mark, ours = f"SLURM_JOB_ID={job}".encode(), []
        for pid in self._processes():
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    words = f.read().split(b"\0")
                with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                    status = dict(line.split(":", 1) for line in f)
            except OSError:
                continue
            caught = int(status["SigCgt"], 16) >> (signal.SIGUSR1 - 1) & 1
            if mark in words and status["Name"].strip() == "norma" and caught:
                ours.append(pid)
        return ours

    def log(self, job):
        """The log that the shipped scripts append to."""
        path = f"{self.folder}/norma-{job}.log"
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def logs(self):
        """The ends of all logs."""
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as f:
                    texts.append(f"--- {name}\n" + "".join(f.readlines()[-25:]))
        return "\n".join(texts)

    def _processes(self):
        """Processes that have this cluster in their environment."""
        ours, mark = [], f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark in f.read().split(b"\0") and int(pid) != os.getpid():
                        ours.append(int(pid))
            except OSError:
                pass
        return ours

    def __exit__(self, *_):
        for number, limit in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
            for pid in self._processes():
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
            end = time.monotonic() + limit
            while self._processes() and time.monotonic() < end:
                for process in self.daemons:
                    process.poll()
                time.sleep(0.1)
        for process in self.daemons:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
