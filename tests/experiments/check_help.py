"""Help pages as a user sees them: from the first line to the last, once on any number of ranks, nothing on
stderr, exit code 0. Every fourth page is looked at on several ranks, with the argument `all` every page."""
import concurrent.futures

import program

PAGES = [(["--help"], "srun norma ...'."),
         (["reconstruct", "--help"], "option: [value, value]"),
         (["plan", "reconstruct", "--help"], "option: [value, value]"),
         (["chain", "--help"], "option: [value, value]"),
         (["plan", "chain", "--help"], "option: [value, value]"),
         (["evaluate", "--help"], "This text."),
         (["gradient", "--help"], "option: [value, value]"),
         (["plan", "gradient", "--help"], "option: [value, value]"),
         (["spectrum", "--help"], "option: [value, value]"),
         (["plan", "spectrum", "--help"], "option: [value, value]"),
         (["align", "--help"], "option: [value, value]"),
         (["plan", "align", "--help"], "option: [value, value]"),
         (["diff", "--help"], "This text."),
         (["meanfield", "--help"], "option: [value, value]"),
         (["plan", "meanfield", "--help"], "option: [value, value]"),
         (["bench", "--help"], "option: [value, value]"),
         (["plan", "bench", "--help"], "option: [value, value]"),
         (["info", "--help"], "This text."),
         (["list", "--help"], "This text."),
         (["list"], "(chain --act)"),
         (["list", "solvers"], "(RF Fig. 2 d)"),
         (["--version"], " bits")]


def main():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(lambda page: program.launch(page[0]), PAGES))
    for number, ((arguments, last), alone) in enumerate(zip(PAGES, pages)):
        label = "norma " + " ".join(arguments)
        print(f"{label}: {len(alone.stdout)} characters")
        program.check(alone.returncode == 0 and not alone.stderr,
                      f"{label}: exit {alone.returncode}: {alone.stderr}")
        program.check(alone.stdout.rstrip().endswith(last), f"{label} ends with '{alone.stdout[-40:]}'")
        if program.ALL or number % 4 == 1:
            program.check(program.launch(arguments, ranks=3).stdout == alone.stdout, f"{label}: differs on 3 ranks")
    program.finish()


main()
