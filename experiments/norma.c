/*
 * norma: the one executable. Finds the subcommand, answers --help and --version, hands over to the
 * driver, leaves through the runtime.
 */
#include "experiments/driver.h"

#include "io/result/provenance.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/config/config.h"
#include "src/config/config_help.h"

#include <string.h>

/* `norma plan` is no driver of its own: it runs another one's with the plan flag set. */
static const norma_option *const no_tables[] = {NULL};
static const norma_command plan_command = {
    .name = "plan",
    .invocation = "norma plan CMD",
    .summary = "dry run of CMD: process grid, memory per rank, operations, bytes written, time",
    .tables = no_tables,
};

static const norma_driver *const drivers[] = {
    &norma_driver_reconstruct, &norma_driver_evaluate, &norma_driver_chain,
    &norma_driver_bench,       &norma_driver_info,     &norma_driver_diff,
};
enum { N_DRIVERS = sizeof drivers / sizeof drivers[0] };

static const char *sections[N_DRIVERS + 1];
static const norma_command *commands[N_DRIVERS + 2];

static void list_commands(void)
{
    for (int i = 0; i < N_DRIVERS; i++) {
        sections[i] = drivers[i]->command->name;
        commands[i] = drivers[i]->command;
    }
    commands[N_DRIVERS] = &plan_command;
}

static norma_status find_driver(const char *name, bool plan, const norma_driver **out)
{
    for (int i = 0; i < N_DRIVERS; i++)
        if (strcmp(drivers[i]->command->name, name) == 0 && (!plan || drivers[i]->plan)) {
            *out = drivers[i];
            return NORMA_OK;
        }
    const char *names[N_DRIVERS + 2] = {NULL};
    int n = 0;
    for (int i = 0; i < N_DRIVERS; i++)
        if (!plan || drivers[i]->plan)
            names[n++] = drivers[i]->command->name;
    if (!plan)
        names[n++] = plan_command.name;
    const char *nearest = norma_text_nearest(name, names, n);
    return NORMA_FAIL(NORMA_USAGE, "unknown subcommand '%s'%s%s%s; see norma --help", name,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
}

static norma_status print_owned(norma_status status, char *text)
{
    if (status == NORMA_OK)
        norma_log_result("%s", text);
    norma_mem_free(text);
    return status;
}

static norma_status print_program_help(void)
{
    char *text = NULL;
    norma_status status = norma_config_help_program(commands, &text);
    return print_owned(status, text);
}

static norma_status print_version(void)
{
    char *text = NULL;
    norma_status status = norma_provenance_describe_local(&text);
    return print_owned(status, text);
}

static norma_status print_command_help(const norma_command *command)
{
    char *text = NULL;
    norma_status status = norma_config_help_command(command, &text);
    return print_owned(status, text);
}

static bool is_word(const char *argument, const char *a, const char *b)
{
    return strcmp(argument, a) == 0 || strcmp(argument, b) == 0;
}

/* Everything up to the driver; the same on all ranks. */
static norma_status dispatch(norma_runtime *runtime, int argc, char **argv)
{
    const norma_driver *driver = NULL;
    if (argc < 2)
        return NORMA_FAIL(NORMA_USAGE, "no subcommand; see norma --help");
    if (is_word(argv[1], "--help", "-h"))
        return print_program_help();
    if (is_word(argv[1], "--version", "-V"))
        return print_version();
    bool plan = strcmp(argv[1], plan_command.name) == 0;
    if (plan && argc < 3)
        return NORMA_FAIL(NORMA_USAGE, "norma plan: which subcommand? For example: norma plan "
                                       "reconstruct --help");
    int name = plan ? 2 : 1;
    if (plan && is_word(argv[2], "--help", "-h"))
        return print_program_help();
    NORMA_TRY(find_driver(argv[name], plan, &driver));

    norma_call call = {.runtime = runtime,
                       .argc = argc,
                       .argv = argv,
                       .n_arguments = argc - name - 1,
                       .arguments = argv + name + 1,
                       .sections = sections,
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
    list_commands();
    norma_status status = norma_runtime_open(&argc, &argv, &runtime);
    if (!runtime)
        return norma_status_exit_code(status);
    if (status == NORMA_OK)
        status = dispatch(runtime, argc, argv);
    return norma_runtime_close(&runtime, status);
}
