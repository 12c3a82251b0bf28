#!/bin/sh
# A first run of Norma: sh experiments/quickstart.sh. Installs what is missing (Debian, Ubuntu),
# builds, reconstructs a trained network inside a random one on two ranks, and shows the result.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/setup.sh

norma_install build run || exit 1
NORMA_TARGET=norma norma_build release || exit 1

result=build/quickstart.h5
table=build/quickstart.txt

norma_say "reconstructing experiments/data/fashion_cnn_w32.h5 (trained on Fashion-MNIST) in a random network"
norma_start 2 build/release/norma reconstruct --target experiments/data/fashion_cnn_w32.h5 \
    --dataset fashion-mnist --samples 1000 --overparam 0.1 --seed 1 --output "$result" --force \
    >"$table" || exit $?

norma_say "the result is $result; of what it holds (norma info $result):"
build/release/norma info "$result" |
    grep -E '^(status|seed|ranks|threads|# variable)|^/[a-z0-9_]+ .*\[' || exit 1
norma_say "source and target, layer by layer and on 1000 test images:"
cat "$table"
