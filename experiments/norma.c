/*
 * norma: the one executable. Finds the subcommand, answers --help and --version, hands over to the
 * driver, leaves through the runtime.
 */
#include "experiments/completion.h"
#include "experiments/manual.h"
#include "experiments/subcommands.h"

#include "io/result/provenance.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/base/names.h"
#include "src/config/config.h"
#include "src/config/config_help.h"

#include <string.h>

enum { MOST_SECTIONS = 32 };
static const char *sections[MOST_SECTIONS];
static const norma_command *commands[MOST_SECTIONS];

/* Subcommands with options of their own are the sections of a configuration file. */
static void list_sections(void)
{
    int n = 0;
    for (int64_t i = 0; i < norma_subcommand_names.n; i++)
        if (norma_subcommand_get(i)->driver) {
            sections[n] = norma_subcommand_get(i)->name;
            commands[n++] = norma_subcommand_get(i)->driver->command;
        }
}

static norma_status find_subcommand(const char *name, bool plan, const norma_subcommand **out)
{
    const norma_names *names = plan ? &norma_subcommand_planned_names : &norma_subcommand_names;
    int64_t i = norma_names_index(names, name);
    if (i < 0) {
        norma_status status = norma_names_fail(names, NORMA_USAGE, name);
        return status != NORMA_OK ? status : NORMA_USAGE;
    }
    *out = norma_subcommand_get(i);
    return NORMA_OK;
}

static norma_status print_owned(norma_status status, char *text)
{
    if (status == NORMA_OK)
        norma_log_result("%s", text);
    norma_mem_free(text);
    return status;
}

static norma_status write_program_help(char **text)
{
    return norma_config_help_program(&norma_subcommand_names, text);
}

/* Answers of the program itself, each a text. */
typedef struct answer {
    const char *flag, *short_flag; /* NULL: no short one */
    norma_status (*write)(char **text);
} answer;

static const answer answers[] = {
    {"--help", "-h", write_program_help},
    {"--version", "-V", norma_provenance_describe_local},
    {"--manual", NULL, norma_manual},
    {"--completion", NULL, norma_completion},
};

static const answer *find_answer(const char *argument)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(argument, answers[i].flag) == 0 ||
            (answers[i].short_flag && strcmp(argument, answers[i].short_flag) == 0))
            return &answers[i];
    return NULL;
}

static norma_status print_answer(const answer *wanted)
{
    char *text = NULL;
    norma_status status = wanted->write(&text);
    return print_owned(status, text);
}

static norma_status print_command_help(const norma_command *command)
{
    char *text = NULL;
    norma_status status = norma_config_help_command(command, &text);
    return print_owned(status, text);
}

/* Texts and files that one process reads for itself: MPI is not started for them. */
static bool works_alone(int argc, char **argv)
{
    if (argc < 2 || norma_runtime_is_launched_local())
        return false;
    int64_t i = norma_names_index(&norma_subcommand_names, argv[1]);
    const norma_driver *driver = i >= 0 ? norma_subcommand_get(i)->driver : NULL;
    if (driver && driver->alone)
        return true;
    return find_answer(argv[1]) || norma_config_wants_help(argc - 2, argv + 2);
}

/* Everything up to the driver; the same on all ranks. */
static norma_status dispatch(norma_runtime *runtime, int argc, char **argv)
{
    const norma_subcommand *subcommand = NULL;
    if (argc < 2)
        return NORMA_FAIL(NORMA_USAGE, "no subcommand; see norma --help");
    const answer *wanted = find_answer(argv[1]);
    if (wanted)
        return print_answer(wanted);
    NORMA_TRY(find_subcommand(argv[1], false, &subcommand));
    bool plan = subcommand->driver == NULL;
    if (plan && argc < 3)
        return NORMA_FAIL(NORMA_USAGE, "norma plan: which subcommand? For example: norma plan "
                                       "reconstruct --help");
    int name = plan ? 2 : 1;
    if (plan && find_answer(argv[2]) == &answers[0])
        return print_answer(&answers[0]);
    if (plan)
        NORMA_TRY(find_subcommand(argv[name], true, &subcommand));
    const norma_driver *driver = subcommand->driver;
    if (!driver || (plan && !driver->plan))
        return NORMA_FAIL(NORMA_USAGE, "norma %s cannot be planned", argv[name]);
    norma_call call = {.driver = driver,
                       .runtime = runtime,
                       .argc = argc,
                       .argv = argv,
                       .n_arguments = argc - name - 1,
                       .arguments = argv + name + 1,
                       .sections = sections,
                       .commands = commands,
                       .plan = plan};
    if (norma_config_wants_help(call.n_arguments, call.arguments))
        return print_command_help(plan ? driver->plan : driver->command);
    if (driver->computes && !plan)
        NORMA_TRY(norma_runtime_check_launch(runtime));
    return driver->run(&call);
}

int main(int argc, char **argv)
{
    norma_runtime *runtime = NULL;
    list_sections();
    if (works_alone(argc, argv)) {
        norma_log_set_speaker_local(true);
        return norma_runtime_end_local(dispatch(NULL, argc, argv));
    }
    norma_status status = norma_runtime_open(&argc, &argv, &runtime);
    if (!runtime)
        return norma_status_exit_code(status);
    if (status == NORMA_OK)
        status = norma_runtime_check_arguments(runtime, argc, argv);
    if (status == NORMA_OK)
        status = dispatch(runtime, argc, argv);
    return norma_runtime_close(&runtime, status);
}
