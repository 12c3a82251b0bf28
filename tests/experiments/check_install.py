"""What `cmake --install` lays down: a program that runs from there, a man page that knows its subcommands, batch
scripts that find it."""
import os
import re
import subprocess

import program


def subcommands():
    """As `norma --help` lists them."""
    text = program.launch(["--help"]).stdout
    return re.findall(r"^  (\w+)  ", text.split("Commands:")[1], re.M)


def main():
    build = os.path.dirname(program.NORMA)
    with program.folder() as prefix:
        done = subprocess.run(["cmake", "--install", build, "--prefix", prefix], capture_output=True, text=True)
        program.check(done.returncode == 0, f"cmake --install: {done.stderr}")
        here, there = (subprocess.run([p, "--version"], capture_output=True, text=True)
                       for p in (program.NORMA, os.path.join(prefix, "bin", "norma")))
        program.check(there.returncode == 0 and there.stdout == here.stdout,
                      f"the installed program says {there.stdout}{there.stderr}")
        with open(os.path.join(prefix, "share", "man", "man1", "norma.1"), encoding="utf-8") as f:
            page = f.read()
        section = page.split(".SH SUBCOMMANDS")[1].split(".SH ")[0]
        listed = re.findall(r"^\.TP\n\.B (\w+)$", section, re.M)
        program.check(sorted(listed) == sorted(subcommands()),
                      f"the man page lists {listed}, the program {subcommands()}")
        version = re.search(r"^norma: (\S+)$", here.stdout, re.M).group(1)
        program.check(f'"norma {version}"' in page.splitlines()[0], f"the man page is not of {version}")
        slurm = os.path.join(prefix, "share", "norma", "slurm")
        program.check(os.access(os.path.join(slurm, "reconstruct.sbatch"), os.X_OK), "no batch script")
        found = subprocess.run(["bash", "-c", '. "$1/common.sh" && norma_job_program "$1"', "bash", slurm],
                               capture_output=True, text=True,
                               env={k: v for k, v in os.environ.items() if k != "NORMA"})
        program.check(os.path.realpath(found.stdout.strip()) ==
                      os.path.realpath(os.path.join(prefix, "bin", "norma")),
                      f"the batch scripts find {found.stdout}{found.stderr}")
    program.finish()


main()
