#!/bin/sh
# Runs a suite, compares the run with the last good one, and keeps a history. The exit code says whether something got worse.
#
#   nightly.sh SUITE [STATE]
#
# SUITE is a built-in suite or a suite file. STATE is the folder for everything that is kept (default: nightly).
#
#   STATE/runs/<time>       the runs; the next night resumes one that a crash or a reboot cut short
#   STATE/reference         the first run: 1 in the trend
#   STATE/good              the last run without a regression; the next run is compared with it. The first run is good if
#                           every cell has a result, or none is feasible; else every night fails until one is accepted
#   STATE/history.csv       one line for each run and placer
#   STATE/trend.svg         the trend
#   STATE/report.md         the last comparison
#
# To accept a change for the worse, or cells that have been broken from the first night: nightly.sh --accept [STATE]
# Exit codes: 0 fine, 1 a regression (see report.md), 2 the runs do not compare, 3 another run is under way,
# 4 the suite did not run.
#
# Environment: PLACEBENCH (the command), RUN_OPTIONS (for `run`), COMPARE_OPTIONS (for `compare`), KEEP (number of runs to
# keep besides reference and good, default 30).
set -u

PLACEBENCH=${PLACEBENCH:-placebench}
RUN_OPTIONS=${RUN_OPTIONS---threads 1 --quiet}
COMPARE_OPTIONS=${COMPARE_OPTIONS-}
KEEP=${KEEP:-30}

accept=
if [ "${1-}" = --accept ]; then
    accept=1
    shift
else
    suite=${1-}
    [ -n "$suite" ] || { echo "usage: nightly.sh SUITE [STATE] | nightly.sh --accept [STATE]" >&2; exit 4; }
    shift
fi
state=${1:-nightly}
[ -z "$accept" ] || [ -d "$state/runs" ] || { echo "nightly: no runs in $state" >&2; exit 4; }

# A link appears or moves in one step, so that a crash never leaves half a state.
point() {
    [ "$1" != good ] || : >"$state/.had-good"
    ln -sfn "$2" "$state/.link" && mv -fT "$state/.link" "$state/$1"
}

latest() {
    for run in "$state"/runs/*/results.parquet; do
        [ -e "$run" ] && dirname "$run"
    done | tail -n 1
}

mkdir -p "$state/runs" || exit 4
# The lock ends with the process, however that ends.
exec 9>"$state/.lock"
if ! flock -n 9; then
    echo "nightly: another run is going on in $state" >&2
    exit 3
fi

if [ -n "$accept" ]; then
    run=$(latest)
    [ -n "$run" ] || { echo "nightly: no complete run in $state" >&2; exit 4; }
    point good "runs/$(basename "$run")"
    echo "accepted $run"
    exit 0
fi

# A good run that is gone is no reason to take tonight's for good.
if [ ! -e "$state/good" ] && { [ -L "$state/good" ] || [ -e "$state/.had-good" ]; }; then
    echo "nightly: the good run of $state is gone: look at a run, then accept it with nightly.sh --accept $state" >&2
    exit 2
fi

# Runs the suite in a folder. `run` exits with 1 for invalid cells, too; the comparison names them.
run_in() {
    # shellcheck disable=SC2086
    "$PLACEBENCH" run "$suite" --out "$1" $RUN_OPTIONS >"$state/run.log" 2>&1
    code=$?
    if [ ! -e "$1/results.parquet" ] && [ "$code" -ge 128 ]; then
        echo "nightly: stopped; the next night goes on in $1" >&2
        exit 4
    fi
    [ -e "$1/results.parquet" ]
}

# Resume an unfinished run if suite and build are the same. Otherwise drop it.
tonight=
for run in "$state"/runs/*; do
    [ -d "$run" ] && [ ! -e "$run/results.parquet" ] || continue
    if [ -e "$run/suite.toml" ] && run_in "$run"; then
        tonight=$run
    else
        echo "nightly: $run cannot go on, dropped" >&2
        rm -rf "$run"
    fi
done
if [ -z "$tonight" ]; then
    tonight=$state/runs/$(date -u +%Y-%m-%dT%H-%M-%SZ)
    if ! run_in "$tonight"; then
        echo "nightly: the suite did not run: $(tail -n 1 "$state/run.log")" >&2
        exit 4
    fi
fi

name=$(basename "$tonight")
[ -e "$state/reference" ] || point reference "runs/$name"
# Without a good run, tonight's is compared with itself: only what is broken is found.
good=$state/good
broken=
[ -e "$good" ] || { good=$tonight; broken=--broken; }

# shellcheck disable=SC2086
"$PLACEBENCH" compare "$good" "$tonight" --format markdown $broken $COMPARE_OPTIONS >"$state/report.md.part" 2>"$state/compare.log"
verdict=$?
if [ "$verdict" -le 1 ]; then
    mv -f "$state/report.md.part" "$state/report.md"
else
    echo "nightly: $(tail -n 1 "$state/compare.log"); after a change of the suite: nightly.sh --accept $state" >&2
    rm -f "$state/report.md.part"
fi

"$PLACEBENCH" trend "$state/history.csv" --add "$tonight" --reference "$state/reference" --figure "$state/trend.svg" \
    >"$state/trend.txt" || echo "nightly: no trend" >&2

[ "$verdict" -eq 0 ] && point good "runs/$name"
[ "$verdict" -eq 1 ] && cat "$state/report.md"

# Remove old runs; the history keeps their numbers.
reference=$(basename "$(readlink "$state/reference")")
good=$(basename "$(readlink "$state/good")" 2>/dev/null)
# shellcheck disable=SC2012
ls -1 "$state/runs" | head -n "-$KEEP" | while read -r old; do
    [ "$old" = "$reference" ] || [ "$old" = "$good" ] || rm -rf "$state/runs/$old"
done

exit "$verdict"
