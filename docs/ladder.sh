#!/bin/sh
# Measures the ladders on a GPU, and keeps what tools/ladder_page.py writes docs/ladder.md from: of each sweep the table,
# the report, the environment, and what the terminal said; and what Nsight Compute counts of each kernel's fastest case.
#
#   sh docs/ladder.sh docs/h200/ladder                  # all of them
#   sh docs/ladder.sh docs/h200/ladder transpose stencil  # only these
#
# Which kernels and configurations are swept stands in conf/experiment/ladder_*.yaml. Beside what a sweep needs: nvcc, and ncu.
set -eu
sweeps="reduction-int32 reduction-float32 transpose stencil"

among() { # WORD LIST: whether it is one of them
  case $1 in "" | *" "*) return 1 ;; esac
  case " $2 " in *" $1 "*) ;; *) return 1 ;; esac
}

refuse() { # GIVEN
  echo "docs/ladder.sh: a folder, then none or some of $sweeps are expected, not '$1'." >&2
  exit 2
}

case ${1-} in "" | -*) refuse "${1-}" ;; esac
if among "$1" "$sweeps"; then refuse "$1"; fi # a sweep, but no folder
target=$1
shift
for name in "$@"; do among "$name" "$sweeps" || refuse "$name"; done
wanted=${*:-$sweeps}
python=${PYTHON:-python3}
work=outputs/ladder
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" # the checkout's own runner
rm -rf "$work"
mkdir -p "$target" "$work"

run() { # NAME ARGUMENT...: sweep, if it is wanted, and keep what came of it
  name=$1
  shift
  among "$name" "$wanted" || return 0
  COLUMNS=160 "$python" -m runner "$@" device=cuda timing=quick timing.rounds=3 "hydra.sweep.dir=$work/$name" >"$work/said.txt"
  grep -v '^Report:' "$work/said.txt" >"$target/$name.txt"
  cp "$work/$name/results.csv" "$target/$name.csv"
  cp "$work/$name/report.html" "$target/$name.html"
  cp "$work/$name/environment.json" "$target/$name.json"
}

run reduction-int32 experiment=ladder_reduction dtype=int32 'size=2**20,2**24,2**28'
run reduction-float32 experiment=ladder_reduction dtype=float32 'size=2**20,2**24,2**28'
run transpose experiment=ladder_transpose size=4096x4096,4097x4095
run stencil experiment=ladder_stencil size=2**24
rm -rf "$work"
"$python" tools/count_ladder.py "$target" # of all sweeps that lie there
