# shellcheck shell=sh
# Sourced by tests/run.sh and experiments/quickstart.sh, from the top of the source tree, in POSIX
# sh: installs what Norma stands on, builds it, knows how to start ranks.
#
#   norma_install GROUP...     groups: build run test check (the tools of .ci/run) slurm (tests/slurm) torch
#                              (large, never needed: the scripts for PyTorch and ONNX, and their tests)
#   norma_build PRESET         configures and builds into build/PRESET; further arguments go to cmake;
#                              NORMA_TARGET names one target, such as norma, in place of all
#   norma_start N PROGRAM...   starts a program of build/release on N ranks
#
# The packages carry Debian's names, which Ubuntu shares. Where apt is not there, or may not be
# used, what is missing is named instead. NORMA_SETUP=no skips the check altogether.

# Debian's own tools go first: a Python, an MPI or a cmake of some environment does not see the
# packages installed here. The scripts build with the system's compiler; to choose another one call
# cmake yourself (README.md).
norma_use_system_tools() {
    if command -v dpkg-query >/dev/null 2>&1; then
        PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH
        export PATH
        unset CC CFLAGS CPPFLAGS LDFLAGS
    fi
}

norma_say() {
    printf 'norma: %s\n' "$*" >&2
}

# One line a package: group, package, and how to see without dpkg that its content is there.
norma_packages() {
    cat <<'LIST'
build gcc                        command gcc
build libc6-dev                  header stdio.h
build make                       command make
build cmake                      command cmake
build ninja-build                command ninja
build pkg-config                 command pkg-config
build openmpi-bin                command mpirun
build libopenmpi-dev             command mpicc
build libhdf5-openmpi-dev        command h5pcc
build libscalapack-openmpi-dev   library scalapack-openmpi scalapack
build libopenblas-pthread-dev    library openblas
build libgsl-dev                 header gsl/gsl_math.h
build zlib1g-dev                 header zlib.h
build libyaml-dev                header yaml.h
build librandom123-dev           header Random123/philox.h
build libsleef-dev               header sleef.h
build libcmocka-dev              header cmocka.h
run   dataset-fashion-mnist      file /usr/share/datasets/fashion-mnist
run   netcdf-bin                 command ncdump
test  hdf5-tools                 command h5dump
test  procps                     command ps
test  python3-minimal           command python3
test  python3-numpy              module numpy
test  python3-h5py               module h5py
test  python3-xarray             module xarray
test  python3-h5netcdf           module h5netcdf
test  python3-netcdf4            module netCDF4
slurm munge                      command munged
slurm slurmctld                  command slurmctld
slurm slurmd                     command slurmd
slurm slurm-client               command sbatch
slurm libpmix-dev                file /usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so
torch python3-torch              module torch
torch python3-onnx               module onnx
torch python3-matplotlib         module matplotlib
check clang-format-14            command clang-format-14
check clang-tidy-14              command clang-tidy-14
check clang-14                   command clang-14
check libclang-rt-14-dev         file /usr/lib/llvm-14/lib/clang/14.0.6/include/fuzzer/FuzzedDataProvider.h
check libomp-14-dev              file /usr/lib/llvm-14/lib/libomp.so
check valgrind                   command valgrind
check shellcheck                 command shellcheck
LIST
}

# norma_probe KIND NAMES...: is it there, whoever installed it?
norma_probe() {
    norma_kind=$1
    shift
    for norma_name in "$@"; do
        case $norma_kind in
        command) command -v "$norma_name" >/dev/null 2>&1 && return 0 ;;
        file) [ -e "$norma_name" ] && return 0 ;;
        module) python3 -c "import $norma_name" >/dev/null 2>&1 && return 0 ;;
        header)
            printf '#include <%s>\n' "$norma_name" | ${CC:-cc} -E - >/dev/null 2>&1 && return 0
            ;;
        library)
            printf 'int main(void) { return 0; }\n' |
                ${CC:-cc} -x c - -o /dev/null "-l$norma_name" >/dev/null 2>&1 && return 0
            ;;
        esac
    done
    return 1
}

# Prints the packages of the given groups that dpkg does not know as installed.
norma_missing_for_dpkg() {
    norma_packages | while read -r norma_group norma_package norma_rest; do
        case " $* " in *" $norma_group "*) ;; *) continue ;; esac
        dpkg-query -W -f '${db:Status-Status}\n' "$norma_package" 2>/dev/null |
            grep -qx installed || printf '%s ' "$norma_package"
    done
}

# The same by looking for the content.
norma_missing_for_probes() {
    norma_packages | while read -r norma_group norma_package norma_rest; do
        case " $* " in *" $norma_group "*) ;; *) continue ;; esac
        # shellcheck disable=SC2086 # kind and names are words
        norma_probe $norma_rest || printf '%s ' "$norma_package"
    done
}

# Prints what to put before a command that needs root: env (we are), sudo; or fails.
norma_find_root() {
    if [ "$(id -u)" -eq 0 ]; then
        printf 'env'
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        printf 'sudo -n'
    elif command -v sudo >/dev/null 2>&1 && [ -t 0 ] && [ -t 2 ]; then
        printf 'sudo'
    else
        return 1
    fi
}

norma_apt() {
    # shellcheck disable=SC2086 # a command and its option
    $norma_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null >&2
}

norma_install() {
    norma_use_system_tools
    [ "${NORMA_SETUP:-yes}" = no ] && return 0
    norma_missing=
    if command -v dpkg-query >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; then
        norma_missing=$(norma_missing_for_dpkg "$@")
        [ -z "$norma_missing" ] && return 0
        if norma_root=$(norma_find_root); then
            norma_say "installing $norma_missing"
            # shellcheck disable=SC2086 # a list of packages
            if norma_apt update && norma_apt install -y --no-install-recommends $norma_missing; then
                return 0
            fi
            norma_say "apt-get failed"
        fi
    fi
    norma_missing=$(norma_missing_for_probes "$@")
    [ -z "$norma_missing" ] && return 0
    norma_say "missing, by their Debian names: $norma_missing"
    if command -v apt-get >/dev/null 2>&1; then
        norma_say "as root: apt-get update && apt-get install --no-install-recommends $norma_missing"
    else
        norma_say "install their equivalents (or load the modules), then run this again;"
        norma_say "NORMA_SETUP=no skips this check where they stand in places it cannot see"
    fi
    return 1
}

norma_jobs() {
    getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1
}

norma_build() {
    norma_preset=$1
    shift
    norma_folder=build/$norma_preset
    # A build folder that came along from another place knows only that place.
    if [ -f "$norma_folder/CMakeCache.txt" ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$norma_folder/CMakeCache.txt"; then
        rm -rf "$norma_folder"
    fi
    mkdir -p "$norma_folder"
    # Ninja starts a third of the processes that make does. A folder keeps the tool it was made with.
    if command -v ninja >/dev/null 2>&1; then
        CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
        export CMAKE_GENERATOR
    fi
    if ! cmake --preset "$norma_preset" "$@" >"$norma_folder/configure.log" 2>&1; then
        cat "$norma_folder/configure.log" >&2
        norma_say "configuring failed"
        return 1
    fi
    {
        cmake --build --preset "$norma_preset" --parallel "$(norma_jobs)" \
            --target "${NORMA_TARGET:-all}" 2>&1
        echo $? >"$norma_folder/build.status"
    } | sed -e '/Built target/d' -e '/Consolidate compiler/d' >&2
    [ "$(cat "$norma_folder/build.status")" -eq 0 ] && return 0
    norma_say "building failed"
    return 1
}

# A value of the cache of build/release.
norma_cached() {
    sed -n "s/^$1:[A-Z]*=//p" build/release/CMakeCache.txt | tr ';' ' '
}

norma_start() {
    norma_ranks=$1
    shift
    # shellcheck disable=SC2046 # a list of flags
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HWLOC_HIDE_ERRORS=2 \
        "$(norma_cached MPIEXEC_EXECUTABLE)" $(norma_cached NORMA_MPIEXEC_FLAGS) \
        -n "$norma_ranks" "$@"
}
