#!/bin/sh
# Makes the tables and reports that are kept in docs/: run it where the device is, then commit what it wrote.
#
#   sh docs/evidence.sh docs/h200 cuda        # the seeds' table, and a sweep over sizes and blocks
#   sh docs/evidence.sh docs/cpu cpu          # the seeds' table on the CPU device
set -eu
target=$1
device=$2
python=${PYTHON:-python3}
work=outputs/evidence-$device
mkdir -p "$target" "$work"

sweep() { # NAME ARGUMENT...: run, and keep table, report, environment and what the terminal said
  name=$1
  shift
  COLUMNS=160 "$python" -m runner "$@" "device=$device" "hydra.sweep.dir=$work/$name" >"$work/$name.txt"
  grep -v '^Report:' "$work/$name.txt" >"$target/$name.txt"
  cp "$work/$name/results.csv" "$target/$name.csv"
  cp "$work/$name/report.html" "$target/$name.html"
  cp "$work/$name/environment.json" "$target/$name.json"
}

sweep seeds experiment=seed_reductions
if [ "$device" = cuda ]; then
  sweep sweep 'kernel=glob(reduce*)' block=64,128,256,512,1024 size=16Ki,64Ki,256Ki,1Mi,4Mi,16Mi,64Mi,256Mi unroll=8
fi
rm -rf "$work"
