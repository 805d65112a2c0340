#!/bin/sh
# Holds the last steps of the ladders beside CUB, cuBLAS, CuPy, PyTorch and a copy, on a GPU, and keeps the tables. Takes
# about four minutes.
#
#   sh docs/limits.sh docs/h200/limits
#
# Beside what a sweep needs: nvcc, and the packages torch and cupy.
set -eu
target=${1:?a folder to write to is expected, such as docs/h200/limits}
python=${PYTHON:-python3}
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" # the checkout's own runner
mkdir -p "$target"

for name in reduction transpose stencil; do
  "$python" "benchmarks/$name.py" --choose --out "$target" >"$target/$name.txt"
done
# The same configurations behind a flush that leaves nothing in L2 to be written back.
"$python" benchmarks/reduction.py --clean --chosen "$target/reduction-chosen.csv" --out "$target" >"$target/reduction-clean.txt"
