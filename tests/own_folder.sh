#!/bin/sh
# Runs a command with a temporary folder of its own (TMPDIR): sh tests/own_folder.sh [--stay] COMMAND...
# Open MPI keeps the sessions of all jobs of a user in one folder, which jobs that start and end at the
# same time take away from each other. The folder is removed at the end. With --stay the script becomes
# the command, so signals reach it; the folder is then removed with that of the test around it.
set -u
if [ "$1" = --stay ]; then
    shift
    TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/mXXXXXX") || exit 1
    export TMPDIR
    exec "$@"
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/nXXXXXX") || exit 1
TMPDIR=$folder "$@"
code=$?
rm -rf "$folder"
exit $code
