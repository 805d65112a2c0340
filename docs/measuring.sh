#!/bin/sh
# Measures the measuring, on a GPU, and keeps the tables: how far the times agree with other instruments and with
# themselves, what disturbs them, and how long a sweep takes against Kernel Tuner's. Takes about eight minutes.
#
#   sh docs/measuring.sh docs/h200/measuring
#
# Beside what a sweep needs: ncu, and the packages cuda-core, cuda-bench and kernel_tuner.
set -eu
target=$1
python=${PYTHON:-python3}
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" # the checkout's own runner
mkdir -p "$target"

"$python" benchmarks/queueing.py >"$target/queueing.txt"
"$python" benchmarks/agreement.py --out "$target/agreement.csv" >"$target/agreement.txt"
# The noise that is found here is taken into account by what follows, as it would be by any later sweep.
COLUMNS=120 "$python" -m runner.calibrate >"$target/calibration.txt"
sed -n '/^Noise/,/^└/p' "$target/calibration.txt" >"$target/noise.txt"
rm "$target/calibration.txt"
"$python" benchmarks/repeated_sweeps.py --out "$target/repeated_sweeps.csv" >"$target/repeated_sweeps.txt"
"$python" benchmarks/faults.py --out "$target/faults.csv" >"$target/faults.txt"
for cases in 20 384; do
  rounds=$([ "$cases" = 20 ] && echo 5 || echo 3)
  "$python" benchmarks/kernel_tuner.py --cases "$cases" --rounds "$rounds" --out "$target/kernel_tuner-$cases.csv" \
    >"$target/kernel_tuner-$cases.txt"
done
