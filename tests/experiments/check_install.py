"""`cmake --install` lays down a program that runs from there, a manual page that says what --help says, completion
for bash, and batch scripts that find the program."""
import os
import re
import subprocess

import program


def subcommands():
    """As `norma --help` lists them."""
    text = program.launch(["--help"]).stdout
    return re.findall(r"^  (\w+)  ", text.split("Commands:")[1], re.M)


def spoken(page):
    """The words of a page in the macros of man(7), as a reader sees them."""
    page = re.sub(r"^\.[A-Z]+ ?", "", page, flags=re.M)
    for mark, meaning in ((r"\\f[BIR]", ""), (r"\\&", ""), (r"\\-", "-"), (r"\\\(aq", "'"), (r"\\e", r"\\")):
        page = re.sub(mark, meaning, page)
    return page.split()


def check_manual(page):
    """The page says of every subcommand what its --help says, word by word."""
    options = page.split(".SH OPTIONS")[1].split(".SH EXIT")[0]
    sections = {s.split()[1]: s for s in re.split(r"^\.SS \\&", options, flags=re.M)[1:]}
    known = subcommands()
    program.check(sorted(sections) == sorted(set(known) - {"plan"}), f"the manual describes {list(sections)}, not {known}")
    for name, section in sections.items():
        text = program.launch([name, "--help"]).stdout.removeprefix("usage:")
        text = text.split("\nA file for --config holds")[0].replace("\n  --help                    This text.", "")
        program.check(spoken(section) == text.split(), f"the manual on {name} differs from its --help")
        print(f"manual on {name}: {len(text.split())} words as in its --help")


def completions(script, *words):
    """The words that bash offers behind these, the last of which is unfinished."""
    test = ('compopt() { printf "no-files\\n"; }; . "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_norma norma "${@: -1}" "${@: -2:1}"; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", test, "bash", script, "norma", *words], capture_output=True, text=True)
    program.check(done.returncode == 0 and not done.stderr, f"completion of {words}: {done.stderr}")
    return done.stdout.split()


def check_completion(script):
    solvers = [line.split()[0] for line in program.launch(["list", "solvers"]).stdout.splitlines()]
    for words, expected in ((["recon"], ["reconstruct"]), (["--vers"], ["--version"]),
                            (["reconstruct", "--solver", ""], solvers),
                            (["reconstruct", "--solver", "lbfgs-s"], [s for s in solvers if s.startswith("lbfgs-s")]),
                            (["chain", "--dep"], ["--depth"]), (["plan", "reconstruct", "--c-o"], ["--c-out"]),
                            (["info", ""], []), (["reconstruct", "--c-out", ""], ["no-files"]),
                            (["reconstruct", "--target", ""], []),
                            (["list", "solv"], ["solvers"]), (["diff", "a.h5", "--tol"], ["--tolerance"])):
        found = completions(script, *words)
        program.check(found == expected, f"completion of {words} offers {found}, not {expected}")
    program.check(sorted(completions(script, "")) == sorted(subcommands()), "completion knows other subcommands")


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
        check_manual(page)
        check_completion(os.path.join(prefix, "share", "bash-completion", "completions", "norma"))
        version = re.search(r"^norma: (\S+)$", here.stdout, re.M).group(1)
        program.check(f'"norma {version}"' in page.splitlines()[0], f"the man page is not of {version}")
        slurm = os.path.join(prefix, "share", "norma", "slurm")
        for name in sorted(os.listdir(os.path.join(program.SOURCE, "slurm"))):
            mode = os.X_OK if name.endswith(".sbatch") else os.R_OK
            program.check(os.access(os.path.join(slurm, name), mode), f"{name} is not installed")
        found = subprocess.run(["bash", "-c", '. "$1/common.sh" && norma_job_program "$1"', "bash", slurm],
                               capture_output=True, text=True,
                               env={k: v for k, v in os.environ.items() if k != "NORMA"})
        program.check(os.path.realpath(found.stdout.strip()) ==
                      os.path.realpath(os.path.join(prefix, "bin", "norma")),
                      f"the batch scripts find {found.stdout}{found.stderr}")
    program.finish()


main()
