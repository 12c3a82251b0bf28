#include "experiments/manual.h"

#include "experiments/subcommands.h"
#include "io/result/provenance.h"
#include "src/config/config_manual.h"

/* A part of the prose: a section where only `name` is given, a paragraph where only `text` is, a
 * hanging paragraph where both are. */
typedef struct part {
    const char *name, *text;
} part;

static const part beginning[] = {
    {"NAME", NULL},
    {NULL, "norma - random networks with normalization layers, on clusters"},
    {"SYNOPSIS", NULL},
    {NULL, "norma COMMAND [OPTION]..."},
    {NULL, "mpirun -n RANKS norma COMMAND [OPTION]..."},
    {NULL, "srun --mpi=pmix norma COMMAND [OPTION]..."},
    {"DESCRIPTION", NULL},
    {NULL, "Norma studies random networks whose only adjustable part is a normalization layer. It "
           "writes every result to an HDF5 file with named dimensions, units and the whole "
           "configuration of the run."},
    {NULL, "Options also come from a YAML file (--config run.yaml), one section a subcommand; "
           "flags win. A list (8,16) or a range (32..256:x2) in place of a number or a name makes "
           "the run a sweep over all combinations."},
    {NULL, "A run saves its state in FILE.ckpt. It stops with its state saved and exit status 75 "
           "on SIGTERM or SIGUSR1, before --time-limit, and before the end of its Slurm job. A "
           "second signal, more than a second later, ends it at once. SIGUSR2 saves and "
           "continues. The same command with --resume continues a stopped or killed run."},
};

static const part end[] = {
    {"EXIT STATUS", NULL},
    {"0", "done"},
    {"1", "two result files differ (norma diff)"},
    {"2", "bad usage or input"},
    {"3", "refused by a limit, or for want of memory or disk"},
    {"4", "numerical or library failure"},
    {"5", "output could not be written"},
    {"75", "stopped early, state saved"},
    {"ENVIRONMENT", NULL},
    {"OMP_NUM_THREADS",
     "Threads of each rank; by default the allowed cores of the node divided by the ranks on it. "
     "A value that is not a whole number is refused; one far above the cores is cut down to them "
     "with a warning."},
    {"OPENBLAS_CORETYPE",
     "The kernels that OpenBLAS uses. Where it is not set and OpenBLAS took older ones than the "
     "processor can run, norma starts itself again with SkylakeX (AVX-512), Haswell or Zen "
     "(AVX2)."},
    {"NORMA_NO_REEXEC",
     "Set to 1, it keeps norma from starting itself again, for debuggers and profilers."},
    {"NORMA_ISA", "scalar, avx2 or avx512: restricts the vector instructions used for random "
                  "numbers. The numbers are the same in every bit."},
    {"FILES", NULL},
    {"FILE.part", "The result while it is being written. It gets its name FILE when it is "
                  "complete."},
    {"FILE.ckpt", "The state of an unfinished run, a folder. It is removed when the run is "
                  "complete."},
};

static void append_parts(const part *parts, size_t n, norma_text *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!parts[i].text)
            norma_text_append(out, ".SH %s\n", parts[i].name);
        else if (parts[i].name)
            norma_config_manual_item(parts[i].name, parts[i].text, out);
        else {
            if (i > 0 && parts[i - 1].text)
                norma_text_append(out, ".PP\n");
            norma_config_manual_line(parts[i].text, out);
        }
    }
}

norma_status norma_manual(char **text)
{
    norma_text out;
    norma_text_init(&out);
    norma_text_append(&out, ".TH NORMA 1 \"\" \"norma %s\" \"User Commands\"\n",
                      norma_provenance_version_local());
    append_parts(beginning, sizeof beginning / sizeof *beginning, &out);
    norma_text_append(&out, ".SH COMMANDS\n");
    for (int64_t i = 0; i < norma_subcommand_names.n; i++) {
        const norma_subcommand *command = norma_subcommand_get(i);
        norma_config_manual_item(command->name, command->summary, &out);
    }
    norma_text_append(&out, ".SH OPTIONS\n");
    norma_config_manual_item("--help", "all subcommands; after a subcommand, all its options",
                             &out);
    norma_config_manual_item("--version", "the version and those of the libraries in use", &out);
    norma_config_manual_item("--manual", "this page for man(1): norma --manual | man -l -", &out);
    norma_config_manual_item("--completion", "a script for bash: . <(norma --completion)", &out);
    for (int64_t i = 0; i < norma_subcommand_names.n; i++)
        if (norma_subcommand_get(i)->driver)
            norma_config_manual_command(norma_subcommand_get(i)->driver->command, &out);
    append_parts(end, sizeof end / sizeof *end, &out);
    return norma_text_take(&out, text);
}
