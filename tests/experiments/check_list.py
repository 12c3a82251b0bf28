"""Walks all families of `norma list`: names are unique and have a summary, the options that take a family show exactly
its members in their help, and every subcommand has its line in README.md and a page that shows its command. No text of
the program lists members by hand, and the pages of docs that list a family list all of it."""
import glob
import os
import re

import program


# An option may take names besides those of its family.
ALSO = {"observables": ("all", "lyapunov")}

# The page of docs with a line for each member; for the other families a page names `norma list FAMILY`.
PAGES = {"solvers": "reconstruct", "constructions": "reconstruct", "residuals": "reconstruct",
         "width-rules": "reconstruct", "searches": "align", "methods": "spectrum", "losses": "gradient",
         "normalizations": "theory", "observables": "theory", "claims": "claims"}


def members(family=None):
    text = program.launch(["list"] + ([family] if family else [])).stdout
    return [re.match(r"(\S+) +(.*)", line).groups() for line in text.splitlines()]


def shown(text, option):
    """The names below an option in a help text."""
    block = re.search(rf"^  --{option}\b.*?(?=^  \S|^\S)", text, re.M | re.S)
    return re.findall(r"^ {30}(\S+)", block.group(), re.M) if block else None


def one_of(names):
    return "(?:" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + ")"


def by_hand(names, summaries):
    """Finds three members of a family in a row in the C sources: in a sentence ("lu, qr and svd", but not in a summary
    of the family itself), as the heads of explanations ("lu: ... qr: ... svd: ..."), or as a list of strings."""
    name = one_of(names) + r"(?::[A-Z]\w*)?"
    sentence = re.compile(rf"(?<![\w-]){name}(?:(?:,? (?:and|or) |, ){name}){{2,}}(?![\w-])")
    head = re.compile(rf"(?<![\w-])({one_of(names)}): ")
    strings = re.compile(rf'"{one_of(names)}"(?:,\s*"{one_of(names)}"){{2,}}')
    for path, code in sources():
        for text in literals(code):
            for found in sentence.finditer(text):
                if not any(found.group() in s for s in summaries):
                    yield path, found.group()
            heads = set(head.findall(text))
            if len(heads) > 2:
                yield path, ": ".join(sorted(heads))
        for found in strings.finditer(code):
            yield path, found.group()


def sources(kept=[]):
    """The C sources without their comments."""
    if not kept:
        for folder in ("src", "mpi", "io", "experiments"):
            for path in sorted(glob.glob(os.path.join(program.SOURCE, folder, "**", "*.[ch]"), recursive=True)):
                with open(path, encoding="utf-8") as f:
                    kept.append((os.path.relpath(path, program.SOURCE), re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)))
    return kept


def literals(code):
    """The texts that adjacent string literals make."""
    literal = r'"((?:[^"\\\n]|\\.)*)"'
    for found in re.finditer(rf"(?:{literal}\s*(?:PRI\w+\s*)?)+", code):
        yield "".join(re.findall(literal, found.group()))


def page(path):
    with open(os.path.join(program.SOURCE, path), encoding="utf-8") as f:
        return f.read()


def main():
    families = members()
    helps = {}
    pages = "".join(page(p) for p in glob.glob(os.path.join(program.SOURCE, "docs", "*.md")))
    for family, summary in families:
        found = members(family)
        names = [name for name, _ in found]
        program.check(names and len(set(names)) == len(names), f"{family}: names {names}")
        program.check(all(re.fullmatch(r"[a-z0-9][a-z0-9_.+-]*", n) for n in names), f"{family}: names {names}")
        program.check(all(s and not s.removesuffix("...").endswith(".") for _, s in found), f"{family}: a summary is missing or a sentence")
        options = re.findall(r"(?:(\w+) )?--([\w-]+)", summary)
        program.check(family == "subcommands" or options, f"{family}: no option is named in '{summary}'")
        everywhere = set()
        for command, option in options:
            commands = [command] if command else ["reconstruct", "chain"]
            for name in commands:
                helps.setdefault(name, program.launch([name, "--help"]).stdout)
            listed = [shown(helps[name], option) for name in commands]
            listed = [l for l in listed if l is not None]
            listed = [[n for n in l if n not in ALSO.get(option, ())] for l in listed]
            program.check(listed and all(set(l) <= set(names) and l for l in listed),
                          f"{family}: --{option} shows {listed}, the family has {names}")
            program.check(not command or listed == [names] or option == "activation",
                          f"{family}: {command} --{option} shows {listed}, the family has {names}")
            everywhere.update(*listed)
        program.check(family == "subcommands" or everywhere == set(names),
                      f"{family}: no option shows {sorted(set(names) - everywhere)}")
        for path, text in by_hand(names, [s for _, s in found]):
            program.check(False, f"{path} lists {family} by hand: '{text}'; take the names from the table")
        if family in PAGES:
            text = page(f"docs/{PAGES[family]}.md")
            lost = [n for n in names if not re.search(rf"(?<![\w-]){re.escape(n)}(?![\w-])", text)]
            program.check(not lost, f"docs/{PAGES[family]}.md does not name the {family} {lost}")
        else:
            program.check(family == "subcommands" or f"`norma list {family}`" in pages, f"no page of docs names `norma list {family}`")
        print(f"{family}: {len(names)} members, options {options}")
    program.check(PAGES.keys() <= {family for family, _ in families}, "PAGES names a family that is not there")
    readme = page("README.md")
    for name, _ in members("subcommands"):
        program.check(re.search(rf"^\| .*`{name}`", readme, re.M), f"README.md has no line for {name}")
        program.check(re.search(rf"^    (mpirun .*)?norma {name}\b", pages, re.M), f"no page of docs shows norma {name}")
    program.finish()


main()
