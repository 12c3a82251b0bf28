#!/bin/sh
# A full disk is exit code 5, one message with path and bytes, the previous file as it was, nothing
# half-written beside it, and nobody waits. Needs the right to mount; skipped (exit 77) without it.
#     check_full_disk.sh WALK WRITER RANKS LAUNCHER...    (WALK: some or all; WRITER: built from write_result.c)
walk=$1
writer=$2
ranks=$3
shift 3
folder=$(mktemp -d "${TMPDIR:-.}/full_disk_$ranks.XXXXXX")
folder=$(cd "$folder" && pwd)
if ! mount -t tmpfs -o size=6m tmpfs "$folder" 2>/dev/null; then
    rmdir "$folder"
    echo "mounting is not permitted here: skipped"
    exit 77
fi
trap 'umount "$folder"; rmdir "$folder"' EXIT
failed=0

fail() {
    echo "$1"
    sed 's/^/    /' "$folder.log"
    failed=1
}

# expect CODE TEXT ARGUMENTS...: what the writer's exit code and message must be
expect() {
    code=$1
    text=$2
    shift 2
    timeout 60 $launcher "$writer" "$@" 2>"$folder.log"
    found=$?
    [ $found -eq "$code" ] || fail "$*: exit code $found, not $code"
    [ -z "$text" ] || grep -q "$text" "$folder.log" || fail "$*: message lacks '$text'"
    [ "$code" -eq 0 ] || [ "$(grep -c . "$folder.log")" -eq 1 ] || fail "$*: more than one line"
    [ ! -e "$folder/a.h5.part" ] || fail "$*: a .part was left"
}

launcher="$*"
for component in ompio romio321; do
    export OMPI_MCA_io=$component
    rm -f "$folder"/*
    case $walk-$component in
    some-romio321) ways=--whole ;; # the way that the other component does not take
    some-ompio) ways=rows ;;
    *) ways='rows --whole' ;;
    esac
    expect 0 "" "$folder/a.h5"
    cp "$folder/a.h5" "$folder/before.h5"
    for how in $ways; do
        [ "$how" = --whole ] || how=
        expect 5 "cannot write $folder/a.h5.part: .* bytes are needed" \
            "$folder/a.h5" --force --values 2000000 $how
        cmp -s "$folder/a.h5" "$folder/before.h5" || fail "the previous file changed"
    done
    [ "$walk-$component" = some-romio321 ] && continue
    # Others fill the disk while a run goes on that has its space reserved.
    expect 0 "" "$folder/a.h5" --force --values 400000
    head -c 6000000 /dev/zero >"$folder/filler" 2>/dev/null
    expect 5 "$folder/a.h5" "$folder/a.h5" --force --values 1000
done
rm -f "$folder"/* "$folder.log"
exit $failed
