#!/bin/sh
# Feeds the readers of configurations, data sets and checkpoints with mutated bytes:
#   sh tests/fuzz.sh [SECONDS each, default 60] [TARGET...]
# An input that breaks one is left in build/fuzz; tests/fuzz/corpus has the inputs that it begins with.
set -eu
cd "$(dirname "$0")/.."
. tests/setup.sh

seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- config idx cifar journal
norma_install build check
mkdir -p build/fuzz
cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang-14 -DCMAKE_BUILD_TYPE=Release -DNORMA_FUZZ=ON -DNORMA_TESTS=OFF >/dev/null
for what in "$@"; do
    cmake --build build/fuzz --parallel "$(norma_jobs)" --target "fuzz_$what" >/dev/null
    mkdir -p "build/fuzz/found/$what"
    [ ! -d "tests/fuzz/corpus/$what" ] || cp -r "tests/fuzz/corpus/$what" build/fuzz/found/
done
cd build/fuzz
# shellcheck disable=SC2016 # the inner shell expands them
printf '%s\n' "$@" | xargs -P "$(norma_jobs)" -I '{}' sh -c '
    log=fuzz_$1.log
    ASAN_OPTIONS=detect_leaks=0 "tests/fuzz/fuzz_$1" -max_total_time="$2" -max_len=4096 "found/$1" >"$log" 2>&1 || {
        tail -40 "$log"
        exit 1
    }
    printf "%s: %s\n" "$1" "$(tail -1 "$log")"' sh '{}' "$seconds"
