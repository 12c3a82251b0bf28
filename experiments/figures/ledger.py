#!/usr/bin/env python3
"""The ledger of the papers' figures and tables: python3 experiments/figures/ledger.py [--check]

Reads the fields of the paragraphs "**Verdict.**" and "**Ledger.**" in every folder's README.md, and writes the table
of experiments/figures/README.md and docs/figures.md. With --check it only compares, and names what to do."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TABLE, PAGE = os.path.join(HERE, "README.md"), os.path.join(TOP, "docs", "figures.md")
LARGEST_PICTURE = 150 * 1000
FORM = ('"**Verdict.** Size here: A; in the paper: B. Same statistic: C. Same data: D." and then a sentence that begins '
        'with "Agrees", "Differs" or "Cannot be known"')

TRAINING = "it trains networks, and Norma does not train"
# Every figure and table with data, and why it is absent where no folder names it.
ITEMS = {
    "RANK20": {
        "Fig. 1": ("rank and training accuracy against depth", TRAINING),
        "Fig. 2": ("rank of the last representation against depth", ""),
        "Fig. 3": ("soft rank against width; eigenvalues from a nearly collinear batch", ""),
        "Fig. 4": ("pre-training for rank against batch normalization", TRAINING),
        "Fig. 5": ("a VGG-19 with an initialization that breaks batch normalization", TRAINING),
        "Fig. 6": ("layer-wise pre-training on Fashion-MNIST", TRAINING),
        "Fig. 7": ("batch normalization without centring", TRAINING),
        "Fig. 8": ("regularity constant against width", ""),
        "Fig. 9": ("mean of the squared Frobenius norm of M against width", ""),
        "Fig. 10": ("directional vanishing of gradients in training", TRAINING),
        "Fig. 11": ("test loss and accuracy of Fig. 4", TRAINING),
        "Fig. 12": ("Fig. 4 on Fashion-MNIST", TRAINING),
        "Fig. 13": ("Fig. 5 with a ResNet-50", TRAINING)},
    "CNN24": {
        "Table 1": ("trained networks inside random ones, ten classes", ""),
        "Table 2": ("trained networks inside random ones, a hundred classes", "")},
    "EXP23": {
        "Fig. 4": ("constructed against trained scales, teacher and student", TRAINING),
        "Fig. 5": ("the same with sparse frozen weights", TRAINING)},
    "RF": {
        "Fig. 2": ("errors of L-BFGS and condition numbers against size", ""),
        "Fig. 3": ("singular values of the feature matrix", ""),
        "Fig. 4": ("alignment after a permutation of the target", ""),
        "Table 1": ("ResNet-50 with features of a given spectrum on ImageNet", TRAINING)},
    "THESIS": {
        "Fig. 2.1": ("cosine of two samples against depth", ""),
        "Fig. 2.2": ("orthogonality gap against depth and width", ""),
        "Fig. 2.3": ("where the smallest singular value stays away from zero", ""),
        "Fig. 2.4": ("orthogonality gap and training loss", TRAINING),
        "Fig. 2.5": ("iterative orthogonalization and training loss", TRAINING),
        "Fig. A.1": ("iterative orthogonalization against gradient clipping", TRAINING),
        "Fig. 3.1": ("mean-field error with and without batch normalization", ""),
        "Fig. 3.2": ("distance from the fixed point against depth", ""),
        "Fig. 3.3": ("distance from the fixed point against width", ""),
        "Fig. 3.4": ("distance from the fixed point against batch size", ""),
        "Tables 5.1, 5.2": ("Hermite polynomials; properties of activations", ""),
        "Fig. 5.1": ("kernel sequences of sums of Hermite polynomials", ""),
        "Fig. 5.2": ("kernel sequences of tanh, relu, exp, gelu", ""),
        "Fig. 6.1": ("isometry gap against depth, orthogonal weights", ""),
        "Fig. 6.2": ("gradient norm with repeated samples", ""),
        "Fig. 6.3": ("gradient norm against depth, orthogonal and Gaussian weights", ""),
        "Fig. 6.4": ("training accuracy with shaped activations", TRAINING),
        "Fig. 6.5": ("gradient norm and gains", ""),
        "Fig. 6.6": ("isometry gaps while training", TRAINING),
        "Table C.1": ("rank of batches of images", "no folder yet; it needs random batches of four data sets"),
        "Fig. C.1": ("growth of gradients against the gain", ""),
        "Fig. C.2": ("growth of gradients against the exponent of the gain", ""),
        "Fig. C.3": ("isometry gap of the weights while training", TRAINING),
        "Fig. C.4": ("gradient norms while training", TRAINING),
        "Fig. C.5": ("accuracy on MNIST while training", TRAINING),
        "Fig. C.6": ("accuracy on Fashion-MNIST while training", TRAINING),
        "Fig. C.7": ("accuracy on CIFAR-100 while training", TRAINING),
        "Fig. C.8": ("accuracy on CIFAR-10 while training", TRAINING),
        "Fig. C.9": ("gradient norm and isometry gap against depth, Gaussian weights", ""),
        "Fig. C.10": ("gradient norm with standard and with simplified batch normalization", "")}}


def read_folder(name):
    """The fields of a folder's README.md; ValueError where one is missing."""
    with open(os.path.join(HERE, name, "README.md"), encoding="utf-8") as f:
        text = f.read()
    one_line = [" ".join(p.split()) for p in re.split(r"\n\s*\n", text)]
    verdict = [re.fullmatch(r"\*\*Verdict\.\*\* Size here: (?P<here>.+?); in the paper: (?P<paper>.+?)\. Same statistic: "
                            r"(?P<statistic>.+?)\. Same data: (?P<data>.+?)\. "
                            r"(?P<result>(Agrees|Differs|Cannot be known).*)", p)
               for p in one_line if p.startswith("**Verdict.**")]
    if len(verdict) != 1 or not verdict[0]:
        raise ValueError(f"needs one paragraph {FORM}; thesis_fig5_1/README.md shows it")
    folder = {key: text for key, text in verdict[0].groupdict().items()}
    folder["result"] = re.split(r"(?<=[a-z0-9)])\. ", folder["result"])[0].rstrip(".")
    folder["name"] = name
    folder["shows"] = text.split("\n")[0].split(": ", 1)[-1].lstrip("# ")
    ledger = [p for p in one_line if p.startswith("**Ledger.**")]
    if len(ledger) != 1:
        raise ValueError('needs one paragraph "**Ledger.** PAPER Fig. N: done." or ": partial; lacks …." or '
                         '"**Ledger.** No figure of a paper."')
    items = "|".join(re.escape(f"{paper} {item}") for paper, items in ITEMS.items() for item in items)
    folder["covers"] = re.findall(rf"({items}): (done|partial; lacks .+?)\.(?= |$)", ledger[0])
    if not folder["covers"] and not ledger[0].endswith("** No figure of a paper."):
        raise ValueError('"**Ledger.**" names no figure of the list in ledger.py, or neither "done" nor "partial; lacks"')
    folder["pictures"] = re.findall(r"!\[([^]]*)\]\(([^)]+\.png)\)", text)
    for _, picture in folder["pictures"]:
        path = os.path.join(HERE, name, picture)
        if not os.path.exists(path) or os.path.getsize(path) > LARGEST_PICTURE:
            raise ValueError(f"{picture} is missing or larger than {LARGEST_PICTURE} bytes")
    return folder


def table(folders):
    lines = ["| folder | shows | size here | in the paper | same statistic | same data | result |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for f in folders:
        row = [f"[`{f['name']}`]({f['name']}/README.md)", f["shows"], f["here"], f["paper"], f["statistic"], f["data"],
               f["result"]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return "\n".join(lines) + "\n"


def state(entry, reason, folders):
    """done, partial or absent; what lacks or why; the folders."""
    found = [(f["name"], text) for f in folders for item, text in f["covers"] if item == entry]
    names = ", ".join(f"[{n}](../experiments/figures/{n}/README.md)" for n, _ in found)
    lacks = [text.split("; lacks ")[1] for _, text in found if text != "done"]
    if not found:
        return "absent", reason or "no folder yet", names
    return ("partial", "lacks " + "; ".join(lacks), names) if lacks else ("done", "", names)


def page(folders):
    counts, tables = {"done": 0, "partial": 0, "absent": 0}, []
    for paper, items in ITEMS.items():
        lines = [f"## {paper}\n", "| item | shows | state | lacks, or why it is absent | folder |", "| --- " * 5 + "|"]
        for item, (shows, reason) in items.items():
            kind, why, names = state(f"{paper} {item}", reason, folders)
            counts[kind] += 1
            lines.append(f"| {item} | {shows} | {kind} | {why} | {names} |")
        tables.append("\n".join(lines) + "\n")
    pictured = [f for f in folders if f["pictures"]]
    bare = ", ".join(f"`{f['name']}`" for f in folders if not f["pictures"])
    gallery = [f"### {f['name']}: {f['shows']}\n\n" + "\n".join(
        f"![{alt}](../experiments/figures/{f['name']}/{path})" for alt, path in f["pictures"]) +
        f"\n\n{f['result']}.\n" for f in pictured]
    return "\n".join([
        "# Ledger of the papers' figures\n",
        "`python3 experiments/figures/ledger.py` writes this page from the README.md of every folder of\n"
        "`experiments/figures`, which hold the runs, the numbers and the verdicts.\n",
        f"Of {sum(counts.values())} figures and tables with data **{counts['done']} are done, {counts['partial']} partial, "
        f"{counts['absent']} absent**. Figures with\nseveral panels count once, and so do Tables 5.1 and 5.2 of THESIS.\n"
        "Sketches and tables of notation are not listed (CNN24 Fig. 1, 2; EXP23 Fig. 1 to 3; RF Fig. 1, 5, 6; THESIS\n"
        "Fig. 4.1, Table 2.1, A.1). [theory.md](theory.md) has the keys of the papers.\n",
        "*Done* means that every panel is computed, at the paper's size where that is known. It does not mean that the\n"
        "numbers agree: the verdict of the folder decides that.\n",
        *tables, "## Gallery\n",
        (f"Without a picture here, since their runs take longer than two minutes of one core: {bare}.\n" if bare else
         "Every folder has a picture. Where it comes from a smaller run than the numbers, the folder states the run.\n"),
        *gallery])


def main(arguments):
    folders, wrong = [], []
    for name in sorted(os.listdir(HERE)):
        if os.path.exists(os.path.join(HERE, name, "README.md")):
            try:
                folders.append(read_folder(name))
            except ValueError as error:
                wrong.append(f"experiments/figures/{name}/README.md:1: {error}")
    if not wrong:
        with open(TABLE, encoding="utf-8") as f:
            old = f.read()
        new = re.sub(r"\| folder \|.*?\n(?=\n|\Z)", lambda _: table(folders), old, count=1, flags=re.S)
        for path, text in ((TABLE, new), (PAGE, page(folders))):
            if "--check" not in arguments:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                continue
            present = ""
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    present = f.read()
            if present != text:
                wrong.append(f"{os.path.relpath(path, TOP)}:1: is out of date: run python3 experiments/figures/ledger.py")
    print("\n".join(wrong) or f"{len(folders)} folders of figures, the ledger is up to date")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
