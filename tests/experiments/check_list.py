"""Walks all families of `norma list`: names are unique and have a summary, the options that take a family show exactly
its members in their help, and every subcommand has its line in README.md and a page that shows its command."""
import glob
import os
import re

import program


# An option may take names besides those of its family.
ALSO = {"observables": ("all", "lyapunov")}


def members(family=None):
    text = program.launch(["list"] + ([family] if family else [])).stdout
    return [re.match(r"(\S+) +(.*)", line).groups() for line in text.splitlines()]


def shown(text, option):
    """The names below an option in a help text."""
    block = re.search(rf"^  --{option}\b.*?(?=^  \S|^\S)", text, re.M | re.S)
    return re.findall(r"^ {30}(\S+)", block.group(), re.M) if block else None


def main():
    families = members()
    helps = {}
    for family, summary in families:
        found = members(family)
        names = [name for name, _ in found]
        program.check(names and len(set(names)) == len(names), f"{family}: names {names}")
        program.check(all(re.fullmatch(r"[a-z0-9][a-z0-9_.+-]*", n) for n in names), f"{family}: names {names}")
        program.check(all(s and not s.removesuffix("...").endswith(".") for _, s in found), f"{family}: a summary is missing or a sentence")
        options = re.findall(r"(?:(\w+) )?--([\w-]+)", summary)
        program.check(family == "subcommands" or options, f"{family}: no option is named in '{summary}'")
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
        print(f"{family}: {len(names)} members, options {options}")
    with open(os.path.join(program.SOURCE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    pages = "".join(open(p, encoding="utf-8").read() for p in glob.glob(os.path.join(program.SOURCE, "docs", "*.md")))
    for name, _ in members("subcommands"):
        program.check(re.search(rf"^\| .*`{name}`", readme, re.M), f"README.md has no line for {name}")
        program.check(re.search(rf"^    (mpirun .*)?norma {name}\b", pages, re.M), f"no page of docs shows norma {name}")
    program.finish()


main()
