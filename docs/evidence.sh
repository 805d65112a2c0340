#!/bin/sh
# Makes the tables and reports that are kept in docs/: run it where the device is, then commit what it wrote.
#
#   sh docs/evidence.sh docs/h200 cuda        # the seeds' table, a sweep, all experiments, two comparisons with the GPU
#   sh docs/evidence.sh docs/h200 cuda timed  # without the two comparisons, in which no time is measured
#   sh docs/evidence.sh docs/h200 cuda seeds  # only the seeds' table
#   sh docs/evidence.sh docs/cpu cpu          # the seeds' table on the CPU device
set -eu
target=$1
device=$2
what=${3:-all}
python=${PYTHON:-python3}
work=outputs/evidence-$device
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" # the checkout's own runner
rm -rf "$work"
mkdir -p "$target" "$work"

run() { # NAME ARGUMENT...: run, and keep the table and what the terminal said
  name=$1
  shift
  COLUMNS=160 "$python" -m runner "$@" "device=$device" "hydra.sweep.dir=$work/$(basename "$name")" >"$work/said.txt"
  grep -v '^Report:' "$work/said.txt" >"$target/$name.txt"
  cp "$work/$(basename "$name")/results.csv" "$target/$name.csv"
}

report() { # NAME: keep the report and the environment, too
  cp "$work/$1/report.html" "$target/$1.html"
  cp "$work/$1/environment.json" "$target/$1.json"
}

figures() { # NAME: keep the figures
  for figure in "$work/$1"/figures/*.svg; do
    case $figure in */dtypes/*lanes* | */width_ladder/*lanes* | */samples-*) continue ;; esac # not these experiments' point
    cp "$figure" "$target/experiments/$1-$(basename "$figure")"
  done
}

run seeds experiment=seed_reductions
report seeds
if [ "$device" = cuda ] && [ "$what" != seeds ]; then
  reductions=reduceGmem,reduceGmemUnroll,reduceShfl,reduceShflUnroll,reduceSmem,reduceSmemDyn,reduceSmemUnroll,reduceSmemUnrollDyn,reduceThreadFence # those of the seeds
  run sweep kernel=$reductions block=64,128,256,512,1024 size=16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi,256Mi unroll=8
  report sweep
  rm -rf "$target/experiments"
  mkdir -p "$target/experiments"
  for file in conf/experiment/*.yaml; do
    experiment=$(basename "$file" .yaml)
    case $experiment in seed_reductions | ladder_*) continue ;; esac # kept as `seeds`, and by docs/ladder.sh
    run "experiments/$experiment" "experiment=$experiment"
    figures "$experiment"
  done
fi
if [ "$device" = cuda ] && [ "$what" = all ]; then
  "$python" tools/agreement.py "$target/agreement.csv" >"$target/agreement.txt"
  "$python" tools/count_accesses.py "$target/accesses.csv" >"$target/accesses.txt"
fi
rm -rf "$work"
