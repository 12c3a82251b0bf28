#!/usr/bin/env python3
"""Holds the source tree to its own rules: python3 tests/sources.py [FOLDER [CHECK...]]

layers   who includes what: one include root, folders that reach only where the table below lets them
words    what a folder never calls: MPI's world, bare allocation, printing; no unfinished business
shape    file lengths, names, and what stands at the top of the repository
ledger   the verdicts of experiments/figures have their fields, and the pages made from them are up to date
Each broken rule is a line file:line: what; the exit code is 1 if there is any.
"""

import os
import re
import subprocess
import sys

LONGEST_FILE = 500

# Folders of ours that each layer may include. Folders without an entry have that of the folder
# above; no two folders below src, mpi or io include each other, not even through others.
MPI = tuple(f"mpi/{folder}" for folder in
            ("runtime", "linalg", "krylov", "system", "layer", "evaluate", "plan", "bench"))
LAYERS = {
    "src/base": ("src/base",),
    "src/config": ("src/base", "src/config"),
    "src": ("src",),
    "mpi/runtime": ("src/base", *MPI[:1]),
    "mpi/linalg": ("src/base", *MPI[:2]),
    "mpi/values": ("src/base", *MPI[:2], "mpi/values"),
    "mpi/krylov": ("src/base", "src/random", "src/features", *MPI[:3]),
    "mpi/system": ("src/base", "src/random", "src/features", *MPI[:4]),
    "mpi/spectrum": ("src", *MPI[:5], "mpi/values", "mpi/spectrum"),
    "mpi/construct": ("src", *MPI[:2], "mpi/values", "mpi/construct"),
    "mpi/layer": ("src/base", "src/random", "src/features", *MPI[:5]),
    "mpi/evaluate": ("src", "mpi/runtime", "mpi/evaluate"),
    "mpi/plan": ("src", *MPI[:5], "mpi/plan"),
    "mpi/bench": ("src", *MPI[:6], "mpi/bench"),
    "io/result": ("src/base", "mpi/runtime", "io/result"),
    "io/checkpoint": ("src/base", "mpi/runtime", "io/checkpoint"),
    "io/config": ("src/base", "src/config", "mpi/runtime", "io/result", "io/config"),
    "io/hdf5": ("src/base", "io/result", "io/hdf5"),
    "io/merge": ("src/base", "mpi/runtime", "io/result", "io/merge"),
    "io/input": ("src/base", "src/network", "mpi/runtime", "io/result", "io/hdf5", "io/input"),
    "experiments": ("src", "mpi", "io", "experiments/driver.h", "experiments/job",
                    "experiments/layers"),
    "tests/harness": ("src", "mpi", "io", "tests/harness"),
    "tests/src": ("src", "tests/harness", "tests/src"),
    "tests/mpi": ("src", "mpi", "tests/harness", "tests/mpi"),
    "tests": ("src", "mpi", "io", "experiments", "tests"),
}
LONGEST_FOLDER = 30

C_LIBRARY = set("""
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
wchar wctype arpa/inet cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen
monetary mqueue ndbm net/if netdb netinet/in netinet/tcp nl_types poll pthread pwd regex sched
search semaphore spawn strings stropts sys/ipc sys/mman sys/msg sys/resource sys/select sys/sem
sys/shm sys/socket sys/stat sys/statvfs sys/time sys/times sys/types sys/uio sys/un sys/utsname
sys/wait syslog tar termios trace ulimit unistd utime utmpx wordexp sys/ioctl sys/vfs sys/auxv
malloc features endian byteswap fpu_control alloca memory values error err
""".split())

# Headers of libraries, and the layers that may include them.
LIBRARIES = [
    (r"omp\.h|Random123/.*|sleef\w*\.h|\w*intrin\.h|cpuid\.h", ("src", "mpi", "experiments", "tests")),
    (r"cblas\.h|lapacke?\.h|gsl/.*|libxsmm\w*\.h|cs\.h|cholmod\.h|umfpack\.h|SuiteSparse\w*\.h",
     ("src", "mpi", "tests")),
    (r"mpi\.h", ("mpi", "io", "tests")),
    (r"hdf5\w*\.h|H5\w*\.h|zlib\.h", ("io", "tests")),
    (r"yaml\.h", ("src", "tests")),
    (r"cmocka\.h", ("tests",)),
]
NO_LIBRARY_OF = {"src/base": r"cblas\.h|lapacke?\.h|gsl/.*", "tests/src": r"mpi\.h|hdf5\.h"}

PRINTING = r"\b(?:printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|putc|fputc|perror|fwrite)\s*\("
ALLOCATING = r"\b(?:malloc|calloc|realloc|free|strdup|strndup|aligned_alloc|posix_memalign)\s*\("

# (files, never, why, files that may all the same)
WORDS = [
    (r"(src|mpi|io|experiments|tests)/.*\.[ch]", r"\bMPI_COMM_WORLD\b",
     "only the runtime names the world", ("mpi/runtime/runtime.c", "mpi/runtime/agree.c")),
    (r"(src|mpi|io|experiments)/.*\.[ch]", ALLOCATING, "memory goes through src/base/mem",
     ("src/base/mem.c", "mpi/runtime/runtime.c")),
    (r"src/.*\.[ch]", PRINTING, "src does not print", ()),
    (r"(io|experiments)/.*\.[ch]", PRINTING.replace("|fwrite", ""),
     "mpi/runtime/log is the one voice", ()),
    (r"(src|mpi|io|experiments|tests)/.*\.[ch]", r"\b(?:exit|abort|MPI_Abort)\s*\(",
     "a program leaves through the runtime", ("tests/fuzz/fuzz_file.c",)),
    (r".*\.[ch]", r"\b(?:TODO|FIXME|XXX|HACK)\b", "unfinished", ()),
    (r".*\.(c|h|sh|py|md|txt|yaml|json|sbatch|cmake)|\.ci/run",
     r"(?<![\w.])/(?:work|root)/|/home/[a-z]|(?<![\w.])/tmp/[a-z]", "the path of one machine", ()),
]

TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "README.md", "CHANGELOG.md", "CONTRIBUTING.md",
             "CITATION.cff", "LICENSE", "docs", "packaging",
             "src", "mpi", "io", "experiments", "slurm", "tests"}
TEXT = (".c", ".h", ".sh", ".py", ".md", ".txt", ".yaml", ".json", ".sbatch", ".cmake")


def files_of_git(root):
    """The files that git knows, or None: a source archive is no repository, and git may be missing."""
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    try:
        listing = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return None
    if listing.returncode != 0:
        return None
    names = listing.stdout.decode().split("\0")
    return sorted(n for n in names if n and os.path.isfile(os.path.join(root, n)))


def tracked_files(root):
    """The files of the repository; without git, those of the folders that belong to it."""
    files = files_of_git(root)
    if files is not None:
        return files, True
    files = []
    for top in sorted(TOP_LEVEL | {".ci"}):
        path = os.path.join(root, top)
        if os.path.isfile(path):
            files.append(top)
        for folder, folders, names in os.walk(path):
            folders[:] = [f for f in folders if f != "__pycache__"]
            files += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    return sorted(files), False


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer_of(path):
    """The longest entry of LAYERS that holds the file."""
    return max((l for l in LAYERS if within(path, l)), key=len, default=None)


def strip_comments(text):
    """Comments and strings blanked, so that words in them do not count; lines keep their number."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group()) if match.group()[0] == "/" else '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def includes(text):
    """(line number, name, angle) of each include line."""
    pattern = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|"([^"]+)")', re.M)
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) or match.group(2), \
            match.group(1) is not None


def check_library(path, layer, name):
    """Why the file may not include <name>, or None."""
    if re.sub(r"\.h$", "", name) in C_LIBRARY:
        return None
    top = layer.split("/")[0]
    for pattern, layers in LIBRARIES:
        if re.fullmatch(pattern, name):
            if top in layers and not re.fullmatch(NO_LIBRARY_OF.get(layer, "$^"), name):
                return None
            return f"{layer} may not include <{name}>"
    return f"<{name}> is in no list of {os.path.basename(__file__)}"


def home_of(path):
    """The folder of a subcommand, also of files in folders below it."""
    return os.path.dirname(path).split("/")[:2]


def check_own(path, layer, name, known):
    """Why the file may not include "name", or None."""
    if name not in known:
        return f'"{name}" is no path from the root of the tree'
    if any(within(name, folder) for folder in LAYERS[layer]):
        return None
    if layer == "experiments" and home_of(path) == home_of(name):
        return None  # a subcommand's own folder and those below it, never another's
    return f'{os.path.dirname(path)} may not include "{name}"'


def find_cycle(graph):
    """A cycle of folders as a list, or None."""
    done = set()

    def visit(node, trail):
        if node in trail:
            return trail[trail.index(node):] + [node]
        if node in done:
            return None
        for other in sorted(graph.get(node, ())):
            cycle = visit(other, trail + [node])
            if cycle:
                return cycle
        done.add(node)
        return None

    for start in sorted(graph):
        cycle = visit(start, [])
        if cycle:
            return cycle
    return None


def check_layers(files, texts, report):
    graph = {}
    for path in files:
        layer = layer_of(path)
        if not path.endswith((".c", ".h")) or layer is None:
            continue
        for line, name, angle in includes(texts[path]):
            why = check_library(path, layer, name) if angle else \
                check_own(path, layer, name, texts)
            if why:
                report(path, line, why)
            source, other = os.path.dirname(path), os.path.dirname(name)
            if not angle and path.split("/")[0] in ("src", "mpi", "io") and source != other:
                graph.setdefault(source, set()).add(other)
    cycle = find_cycle(graph)
    if cycle:
        report(cycle[0], 1, "folders include each other: " + " -> ".join(cycle))


def check_words(files, texts, report):
    for pattern, never, why, exceptions in WORDS:
        for path in files:
            if path not in texts or path in exceptions or not re.fullmatch(pattern, path):
                continue
            text = texts[path]
            if path.endswith((".c", ".h")) and why != "unfinished":
                text = strip_comments(text)
            for match in re.finditer(never, text):
                report(path, text.count("\n", 0, match.start()) + 1,
                       f"{match.group().strip()}: {why}")


def check_shape(files, texts, report):
    guards = {}
    for path in files:
        base, extension = os.path.splitext(os.path.basename(path))
        if extension in (".c", ".h"):
            length = texts[path].count("\n")
            if length > LONGEST_FILE:
                report(path, length, f"{length} lines, at most {LONGEST_FILE}")
            if layer_of(path) is None:
                report(path, 1, "C sources stand in src, mpi, io, experiments or tests")
        if extension == ".h":
            libraries = ("mpi", "omp", "hdf5", "zlib", "yaml", "cblas", "lapacke", "sleef", "cmocka")
            if base in C_LIBRARY or base in libraries:
                report(path, 1, "named like a system header")
            guard = re.search(r"^#ifndef (NORMA_\w+_H)\n#define \1$", texts[path], re.M)
            if base.endswith("_loops"):
                continue  # a body for several sources, each included once by each
            if not guard or guards.setdefault(guard.group(1), path) != path:
                report(path, 1, "an include guard NORMA_..._H of its own expected")
        if path in texts and texts[path] and not texts[path].endswith("\n"):
            report(path, 1, "no newline at the end")


def check_folders(files, report):
    """How many files stand in a folder of sources; data, figures and tests may hold more."""
    sizes = {}
    for path in files:
        folder = os.path.dirname(path)
        if re.match(r"(src|mpi|io|experiments)/", path) and not re.match(
                r"experiments/(data|figures)(/|$)", folder):
            sizes[folder] = sizes.get(folder, 0) + 1
    for folder, size in sorted(sizes.items()):
        if size > LONGEST_FOLDER:
            report(folder, 1, f"{size} files, at most {LONGEST_FOLDER}")


def check_top_level(files, report):
    for top in sorted({f.split("/")[0] for f in files}):
        if top not in TOP_LEVEL and not top.startswith("."):
            report(top, 1, "does not belong at the top of the repository")


def check_ledger(root, broken):
    """Fields of the figures' verdicts, and the pages that are made from them."""
    done = subprocess.run([sys.executable, os.path.join(root, "experiments", "figures", "ledger.py"), "--check"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    if done.returncode:
        broken.extend(done.stdout.splitlines() or ["experiments/figures/ledger.py:1: --check fails"])


def main(arguments):
    root = os.path.abspath(arguments[0] if arguments else os.path.dirname(__file__) + "/..")
    wanted = arguments[1:] or ["layers", "words", "shape", "ledger"]
    files, from_git = tracked_files(root)
    texts = {}
    for path in files:
        if path.endswith(TEXT) or path == ".ci/run":
            with open(os.path.join(root, path), encoding="utf-8") as f:
                texts[path] = f.read()
    broken = []

    def report(path, line, what):
        broken.append(f"{path}:{line}: {what}")

    if "layers" in wanted:
        check_layers(files, texts, report)
    if "words" in wanted:
        check_words(files, texts, report)
    if "shape" in wanted:
        check_shape(files, texts, report)
        check_folders(files, report)
        if from_git:
            check_top_level(files, report)
    if "ledger" in wanted:
        check_ledger(root, broken)
    for line in broken:
        print(line)
    n_sources = sum(f.endswith((".c", ".h")) for f in files)
    print(f"{n_sources} C sources, {len(broken)} rules broken ({', '.join(wanted)})")
    return 1 if broken or n_sources == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
