# shellcheck shell=bash
# Sourced by the sbatch scripts of this folder: finds norma, settles the threads, starts the ranks,
# passes signals on, and asks Slurm for another go when a run stopped with its state saved.
#
# A site may set these variables beforehand, in the environment or in its copy of this file:
#   NORMA                the program (else: on PATH, beside this folder's build, in this installation)
#   NORMA_LAUNCHER       srun or mpirun (else: srun where it starts ranks with pmix, mpirun otherwise)
#   NORMA_MPIRUN_FLAGS   placement under mpirun (--bind-to none)
#   NORMA_REQUEUES       how often a job may be requeued (100)
#   NORMA_START_SECONDS  a signal to stop waits until a go is this old, so that all ranks can take it (10)
# Modules are loaded by whoever submits, or above the line that sources this file.

norma_job_say() {
    printf 'norma job %s: %s\n' "${SLURM_JOB_ID:-?}" "$*" >&2
}

# Prints the path of norma. $1: the folder of the sbatch scripts.
norma_job_program() {
    local candidate
    if [ -n "${NORMA:-}" ]; then
        printf '%s\n' "$NORMA"
        return
    fi
    for candidate in "$1/../build/release/norma" "$1/../../../bin/norma"; do
        if [ -x "$candidate" ]; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    command -v norma && return
    norma_job_say "norma not found: put it on PATH or set NORMA"
    return 1
}

# Threads of a rank, for OpenMP and for BLAS: what --cpus-per-task gave.
norma_job_threads() {
    export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
    export OPENBLAS_NUM_THREADS="$OMP_NUM_THREADS"
    # mpirun starts one daemon a node with srun, and that daemon needs all cores of the job there.
    unset SRUN_CPUS_PER_TASK
}

# When the job ends, in seconds of the epoch, for norma's own time limit: Slurm before 23.02 does not
# say it in the environment. Where nobody says it ("Unknown", no answer) none is set.
norma_job_end_time() {
    local end
    [ -z "${SLURM_JOB_END_TIME:-}" ] && [ -n "${SLURM_JOB_ID:-}" ] || return 0
    end=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/.* EndTime=\([^ ]*\).*/\1/p')
    # An empty date would be last midnight: a run that is out of time before it begins.
    [ -n "$end" ] && end=$(date -d "$end" +%s 2>/dev/null) && export SLURM_JOB_END_TIME="$end"
    return 0
}

# Fills the array norma_job_launcher with the command that starts the ranks.
norma_job_choose_launcher() {
    local choice="${NORMA_LAUNCHER:-}"
    if [ -z "$choice" ]; then
        choice=mpirun
        # Slurm lists a plugin whose library is missing, too.
        if srun --mpi=pmix --nodes=1 --ntasks=1 true </dev/null >/dev/null 2>&1; then
            choice=srun
        fi
    fi
    case "$choice" in
    # srun of Slurm 22.05 and later does not take the batch script's value by itself.
    srun) norma_job_launcher=(srun --mpi=pmix --cpus-per-task "$OMP_NUM_THREADS") ;;
    mpirun)
        # Jobs of a user share Open MPI's folder of sessions on a node, and a job that ends removes it
        # from one that starts: each job has its own.
        norma_job_sessions="${TMPDIR:-/tmp}/norma-${SLURM_JOB_ID:-$$}"
        export OMPI_MCA_orte_tmpdir_base="$norma_job_sessions"
        # Unbound: mpirun counts cores where Slurm may count hardware threads, and would pin a rank
        # with several threads to one core.
        # shellcheck disable=SC2206 # a list of flags
        norma_job_launcher=(mpirun -n "${SLURM_NTASKS:-1}" ${NORMA_MPIRUN_FLAGS:---bind-to none})
        if mpirun -q -n 1 true >/dev/null 2>&1; then # Open MPI 4 without a banner of its own
            norma_job_launcher+=(-q)
        fi
        ;;
    *)
        norma_job_say "NORMA_LAUNCHER is '$choice', not srun or mpirun"
        return 1
        ;;
    esac
}

# The value of an option among the arguments: norma_job_option --output "$@". Without one, that of a
# line such as "  output: rank.h5" in the YAML file of --config.
norma_job_option() {
    local name="$1" value="" config=""
    shift
    while [ $# -gt 0 ]; do
        case "$1" in
        "$name") value="${2:-}" ;;
        "$name"=*) value="${1#*=}" ;;
        --config) config="${2:-}" ;;
        --config=*) config="${1#*=}" ;;
        esac
        shift
    done
    case "$config" in
    *.yaml | *.yml)
        if [ -z "$value" ] && [ -f "$config" ]; then
            value=$(sed -n "s/[[:space:]]\{1,\}#.*//; s/[[:space:]]*\$//; s/^ *${name#--}: *//p" "$config" | head -n 1)
            value=${value#[\"\']}
            value=${value%[\"\']}
        fi
        ;;
    esac
    printf '%s\n' "$value"
}

# Is a flag among the arguments? norma_job_has --force "$@".
norma_job_has() {
    local name="$1" argument
    shift
    for argument in "$@"; do
        case "$argument" in
        "$name" | "$name"=*) return 0 ;;
        esac
    done
    return 1
}

# Should this attempt resume? A later one always does (without state it begins anew); the first one
# where there is something of its output, unless --force asks to start over.
norma_job_resumes() {
    local output
    norma_job_has --resume "$@" && return 1
    [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] && return 0
    output=$(norma_job_option --output "$@")
    [ -n "$output" ] && { [ -e "$output.ckpt" ] || [ -e "$output" ]; } && ! norma_job_has --force "$@"
}

# Fills the array norma_job_arguments with the arguments of this task of an array: its share of the
# cells, into OUTPUT-I.h5 for --output OUTPUT.h5. Refuses an array that is not 1-N.
norma_job_share() {
    local output argument replaced=0
    local task="${SLURM_ARRAY_TASK_ID:-}" last="${SLURM_ARRAY_TASK_MAX:-}"
    if [ -z "$task" ] || [ "${SLURM_ARRAY_TASK_MIN:-1}" != 1 ] || [ "${SLURM_ARRAY_TASK_COUNT:-$last}" != "$last" ]; then
        norma_job_say "not a task of an array 1-N: submit with --array=1-N"
        return 1
    fi
    output=$(norma_job_option --output "$@")
    if [ -z "$output" ] || [ -z "$(norma_job_option --seed "$@")" ]; then
        norma_job_say "an array needs --output and --seed behind the script's name, or in the YAML file of --config"
        return 1
    fi
    norma_job_has --output "$@" || set -- "$@" --output "$output"
    norma_job_arguments=() # the script runs them
    for argument in "$@"; do
        if [ "$replaced" = 1 ]; then
            argument="${output%.h5}-$task.h5"
            replaced=2
        fi
        case "$argument" in
        --output) replaced=1 ;;
        --output=*) argument="--output=${output%.h5}-$task.h5" ;;
        esac
        norma_job_arguments+=("$argument")
    done
    norma_job_arguments+=(--cells "$task/$last")
}

# Passes a signal on to the launcher. Ranks that are still being started would end by it: during the
# first NORMA_START_SECONDS it waits.
norma_job_pass() {
    local early=$((${NORMA_START_SECONDS:-10} - SECONDS + norma_job_begun))
    if [ "$early" -le 0 ]; then
        kill -s "$1" "$norma_job_pid" 2>/dev/null
    else
        (sleep "$early" && kill -s "$1" "$norma_job_pid" 2>/dev/null) &
    fi
}

# SIGTERM comes from Slurm at the end of the time, and another go continues the run. Ahead of the end,
# or where the job has none, it comes from scancel: the job is to end.
norma_job_terminate() {
    if [ -z "${SLURM_JOB_END_TIME:-}" ] || [ "$(date +%s)" -lt "$((SLURM_JOB_END_TIME - 5))" ]; then
        norma_job_cancelled=yes
    fi
    # mpirun would end the ranks and return 1.
    kill -USR1 "$norma_job_pid" 2>/dev/null
}

# After exit code 75.
norma_job_again() {
    if [ -n "$norma_job_cancelled" ]; then
        norma_job_say "cancelled with its state saved; the same job, submitted again, continues"
    elif [ "${SLURM_RESTART_COUNT:-0}" -ge "${NORMA_REQUEUES:-100}" ]; then
        norma_job_say "stopped with its state saved; requeued ${SLURM_RESTART_COUNT} times already"
    elif scontrol requeue "$SLURM_JOB_ID"; then
        norma_job_say "stopped with its state saved; requeued"
        sleep 60 # Slurm ends this script; leaving first would mark the job as done
    fi
}

# norma_job_run FOLDER SUBCOMMAND ARGUMENTS...: one run of norma on the ranks of this job. Continues
# from FILE.ckpt where an earlier go left one. Ends the script with norma's exit code, except that
# 75 (stopped early, state saved) requeues the job.
norma_job_run() {
    local folder="$1" program code
    shift
    program=$(norma_job_program "$folder") || exit 2
    norma_job_threads
    norma_job_end_time
    norma_job_choose_launcher || exit 2
    if norma_job_resumes "$@"; then
        norma_job_say "continues from what an earlier go saved"
        set -- "$@" --resume
    fi
    norma_job_say "${SLURM_NTASKS:-1} ranks of $OMP_NUM_THREADS threads on" \
        "${SLURM_JOB_NODELIST:-this node}: ${norma_job_launcher[0]}, go $((${SLURM_RESTART_COUNT:-0} + 1))"

    # Signals of sbatch --signal=B:... reach this shell alone: the ranks get them through it.
    norma_job_begun=$SECONDS
    norma_job_cancelled=
    "${norma_job_launcher[@]}" "$program" "$@" </dev/null &
    norma_job_pid=$!
    trap 'norma_job_pass USR1' USR1
    trap 'norma_job_pass USR2' USR2
    trap norma_job_terminate TERM
    while kill -0 "$norma_job_pid" 2>/dev/null; do # a signal ends wait, not the run
        wait "$norma_job_pid"
    done
    code=0
    wait "$norma_job_pid" || code=$? # bash keeps it, also where a signal ended the wait before
    trap - USR1 USR2 TERM

    [ -z "${norma_job_sessions:-}" ] || rm -rf "$norma_job_sessions"
    [ "$code" -ne 75 ] || norma_job_again
    exit "$code"
}
