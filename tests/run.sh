#!/bin/sh
# Builds Norma and runs its tests: sh tests/run.sh. On Debian and Ubuntu it installs first what is
# missing; elsewhere it says what is. Slow tests and benchmarks are left out: run those with
# `ctest --preset release -L slow`. Arguments go to ctest. Exit code: ctest's.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/setup.sh

norma_install build run test || exit 1
norma_build release || exit 1
# One more than cores: most tests wait for processes that start and end.
exec ctest --preset release --label-exclude 'slow|bench' --parallel "$(($(norma_jobs) + 1))" "$@"
