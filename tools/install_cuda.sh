#!/bin/sh
# Installs the extra `cuda` if there is an NVIDIA GPU. PyCUDA is built against this machine's CUDA toolkit. If that fails,
# the reason is printed and the sweep runs on the CPU device. PYTHON is the environment's interpreter.
set -u
nvidia-smi -L >/dev/null 2>&1 || exit 0
"$PYTHON" -c 'import pycuda.driver' 2>/dev/null && exit 0

# pip finds the toolkit through these variables.
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -z "$nvcc" ]; then
  echo "Found a GPU but no CUDA toolkit (nvcc): running on the CPU device. Install the toolkit to use the GPU."
  exit 0
fi
CUDA_ROOT=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
export CUDA_ROOT
export PATH="$CUDA_ROOT/bin:$PATH"

echo "Found a GPU: building PyCUDA against $CUDA_ROOT (a minute or two) ..."
log=$(mktemp)
if "$PYTHON" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cuda]' >"$log" 2>&1 &&
  "$PYTHON" -c 'import pycuda.driver' 2>>"$log"; then
  rm -f "$log"
  exit 0
fi
echo "PyCUDA could not be built, so the sweep runs on the CPU device. The end of the build log ($log):"
tail -n 15 "$log"
echo "PyCUDA needs the CUDA toolkit, a C++ compiler and Python's headers (Debian and Ubuntu: apt-get install python3-dev g++)."
exit 0
