#!/bin/sh
# A first run of Norma: sh experiments/quickstart.sh. Installs what is missing (Debian, Ubuntu),
# builds, and asks the program what it is.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/setup.sh

norma_install build run || exit 1
norma_build release || exit 1
norma_start 2 build/release/norma --version
