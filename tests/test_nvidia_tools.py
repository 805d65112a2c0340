"""benchmarks/nvidia_tools.py: what compute-sanitizer and Nsight Compute print is read by kernel and by line."""

import os
import subprocess
import sys

from support import ROOT

sys.path.append(str(ROOT / "benchmarks"))


from runner.profiling.sanitizer import Said, sanitizer_records

SANITIZER = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at strideOneMore(const int *, int *, int)+0xb0 in /tmp/tmpab/memory.cu:17
=========     by thread (37,0,0) in block (1,0,0)
=========     Address 0x7f2a1a000194 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2a1a000000 of size 404 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch_all in launched.py:90 [0x1]
=========
========= Error: Race reported between Write access at neighbourNoBarrier(const int *, int *)+0x70 in barriers.cu:21
=========     and Read access at neighbourNoBarrier(const int *, int *)+0x90 in barriers.cu:22 [252 hazards]
=========
========= Error: Potential RAW hazard detected at __shared__ 0x4 in block (0,0,0) :
=========     Write Thread (1,0,0) at void sums::tiles<(int)4>(int *)+0x70 in own.cu:3
=========     Read Thread (0,0,0) at void sums::tiles<(int)4>(int *)+0x90 in own.cu:5
=========
========= Uninitialized __global__ memory read of size 4 bytes
=========     at holesRead(const int *, int *, int *)+0x60
=========     by thread (0,0,0) in block (0,0,0)
=========
========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to "invalid argument" on CUDA API call to cuMemAlloc.
=========     Host Frame: other [0x2]
=========
========= ERROR SUMMARY: 4 errors
"""


def test_each_record_of_compute_sanitizer_has_its_kernel_and_lines():
    """With or without line numbers, with several places, in templates; calls of the host are of no kernel."""
    kernels = ("neighbourNoBarrier", "strideOneMore", "holesRead", "tiles", "other2")
    near, same = "1 bytes after an allocation of 404 bytes", ("barriers.cu", "barriers.cu")
    first, at = (0, 0, 0), ((1, 0, 0), (0, 0, 0))
    assert sanitizer_records(SANITIZER, kernels) == [
        Said(
            "strideOneMore",
            "Invalid __global__ read of size 4 bytes",
            (17,),
            ("memory.cu",),
            ((37, 0, 0),),
            (1, 0, 0),
            near,
        ),
        Said("neighbourNoBarrier", "Error: Race reported", (21, 22), same, count=252),
        Said("tiles", "Error: Potential RAW hazard detected", (3, 5), ("own.cu", "own.cu"), at, first),
        Said("holesRead", "Uninitialized __global__ memory read of size 4 bytes", (), (), (first,), first),
    ]


def test_without_a_gpu_it_says_so_in_one_line(tmp_path):
    """No traceback, and no table."""
    command = [sys.executable, str(ROOT / "benchmarks" / "checked.py"), "gpu", "--work", str(tmp_path)]
    own = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, len(done.stderr.splitlines()), done.stdout) == (1, 1, ""), done.stderr
