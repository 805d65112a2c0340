"""benchmarks/nvidia_tools.py: what compute-sanitizer and Nsight Compute print is read by kernel and by line."""

import json
import os
import pickle
import subprocess
import sys

import pytest
from support import ROOT

from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device

sys.path.append(str(ROOT / "benchmarks"))

import checked
import launched
from nvidia_tools import Counted, instruction_lines, sass_counters, source_counters

from runner.stages.profile.sanitizer import Said, sanitizer_records

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


NCU = """\
==PROF== Connected to process 1
"File Path","/tmp/tmpab/transpose.cu"
"Function Name","transpose(const float *, float *)"
"Line No","Source","Address","Source","# Samples","Instructions Executed","Thread Instructions Executed","Predicated-On Thread Instructions Executed","Address Space","L1 Wavefronts Shared","L1 Wavefronts Shared Ideal","L2 Theoretical Sectors Global","L2 Theoretical Sectors Global Ideal"
"8","    tile[y][x] = in[i];","-","-","9","3,000","96,000","96,000","-","32,000","1,000","4,000","4,000"
"","","0x7f00","      IMAD.WIDE R2, R5, R4, c[0x0][0x210]","0","1,000","32,000","32,000","-","0","0","0","0"
"","","0x7f10","      LDG.E.CONSTANT R3, [R2.64]","9","1,000","32,000","32,000","Global","0","0","4,000","4,000"
"","","0x7f20","      STS [R7], R3","0","1,000","32,000","32,000","Shared","32,000","1,000","0","0"
"9","    __syncthreads();","-","-","0","1,000","32,000","32,000","-","0","0","0","0"
"","","0x7f30","      BAR.SYNC.DEFER_BLOCKING 0x0","0","1,000","32,000","32,000","-","n/a","n/a","n/a","n/a"
"File Path","/tmp/tmpab/helper.cuh"
"Function Name","transpose(const float *, float *)"
"Line No","Source","Address","Source","# Samples","Instructions Executed","Thread Instructions Executed","Predicated-On Thread Instructions Executed","Address Space","L1 Wavefronts Shared","L1 Wavefronts Shared Ideal","L2 Theoretical Sectors Global","L2 Theoretical Sectors Global Ideal"
"3","  out[i] = v;","-","-","0","1,000","32,000","16,000","-","0","0","2,000","2,000"
"","","0x7f40","@!P0 STG.E [R2.64], R3","0","500","16,000","8,000","Global","0","0","1,000","1,000"
"","","0x7f50","@P0  STG.E [R4.64], R3","0","500","16,000","8,000","Global","0","0","1,000","1,000"
"""


def test_counters_of_ncu_are_summed_by_line_and_kind_of_access():
    """From the instructions, not from the source lines that sum them up; other instructions do not count."""
    assert source_counters(NCU) == {
        ("transpose", "transpose.cu", 8, "global", "load"): Counted(1000, 32000, 4000, 4000, 1),
        ("transpose", "transpose.cu", 8, "shared", "store"): Counted(1000, 32000, 32000, 1000, 1),
        ("transpose", "helper.cuh", 3, "global", "store"): Counted(1000, 16000, 2000, 2000, 2),
    }


NVDISASM = """\
\t.section\t.text.transpose,"ax",@progbits
.text.transpose:
\t//## File "/tmp/tmpab/transpose.cu", line 8
        /*0000*/                   LDG.E.CONSTANT R3, [R2.64] ;
        /*0010*/                   STS [R7], R3 ;
\t//## File "/tmp/tmpab/helper.cuh", line 3 inlined at "/tmp/tmpab/transpose.cu", line 9
\t//## File "/tmp/tmpab/transpose.cu", line 9
        /*0020*/              @!P0 STG.E [R2.64], R3 ;
"""
SASS = """\
"Kernel Name","transpose(const float *, float *)"
"Address","Source","Instructions Executed","Thread Instructions Executed","Predicated-On Thread Instructions Executed","L1 Wavefronts Shared","L1 Wavefronts Shared Ideal","L2 Theoretical Sectors Global","L2 Theoretical Sectors Global Ideal"
"0x7f10","      LDG.E.CONSTANT R3, [R2.64]","1,000","32,000","32,000","0","0","4,000","4,000"
"0x7f20","      STS [R7], R3","1,000","32,000","32,000","32,000","1,000","0","0"
"0x7f40","@!P0 STG.E [R2.64], R3","500","16,000","8,000","0","0","1,000","1,000"
"""


def test_where_ncu_does_not_find_the_sources_nvdisasm_tells_the_lines():
    """The innermost line of each instruction, in order; other instructions than the cubin's are refused."""
    lines = instruction_lines(NVDISASM)
    assert sass_counters(SASS, lines) == {
        ("transpose", "transpose.cu", 8, "global", "load"): Counted(1000, 32000, 4000, 4000, 1),
        ("transpose", "transpose.cu", 8, "shared", "store"): Counted(1000, 32000, 32000, 1000, 1),
        ("transpose", "helper.cuh", 3, "global", "store"): Counted(500, 8000, 1000, 1000, 1),
    }
    with pytest.raises(ValueError, match="instruction 2 of transpose is NOP"):
        sass_counters(SASS.replace("STS [R7], R3", "NOP"), lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("==ERROR== no report\n", "no table"), (NCU.replace("L2 Theoretical", "L3"), "has no column L2 Theoretical")],
)
def test_what_ncu_did_not_give_is_named(text, reason):
    """No table, or a table without a column that is needed."""
    with pytest.raises(ValueError, match=reason):
        source_counters(text)


LINES = """case,kernel,file,line,memory,kind,blocks,requests,lanes,bytes,sectors,ideal_sectors,wavefronts,ideal_wavefronts,divergent_branches
1,transpose,transpose.cu,8,global,load,3,96,32,128,4,4,,,
1,transpose,transpose.cu,8,shared,store,3,96,32,128,,,31,1,
1,transpose,helper.cuh,3,global,store,3,96,32,128,4,4,,,
1,transpose,helper.cuh,4,global,load,3,96,32,128,4,4,,,
1,transpose,transpose.cu,9,,branch,3,96,32,,,,,,0
"""


def test_lines_are_compared_by_units_a_request_or_a_lane(tmp_path):
    """Equal; equal a lane, as ncu counts predicated warps; different; and those that only one side has."""
    (tmp_path / "lines-cuda-sass.csv").write_text(NCU)
    (tmp_path / "lines.csv").write_text(LINES)
    verdicts = {tuple(row.split()[1:4]): row.split("  ")[-1].strip() for row in checked.line_table(tmp_path)[4:]}
    assert verdicts == {
        ("transpose.cu:8", "global", "load"): "equal",
        ("transpose.cu:8", "shared", "store"): "different",
        ("helper.cuh:3", "global", "store"): "equal a lane",
        ("helper.cuh:4", "global", "load"): "only ours",
    }


def test_a_part_without_its_files_is_told(tmp_path):
    """One sentence in place of the table, so that the other part is not lost."""
    assert any(line.startswith("No table: FileNotFoundError") for line in checked.gpu(tmp_path, ["lines"], read=True))


def test_kernels_are_launched_once_each_whatever_they_do(tmp_path):
    """A line of the log for each, with its error; those that the log has are not launched again."""
    config = DeviceConfig(kind="cpu", threads=1)
    device = open_device(config)
    compiler = compiler_for(config, device.info)
    cases = [case for name, (_, case) in checked.planted_cases().items() if name in ("strideExact", "readFar")]
    jobs = pickle.loads(pickle.dumps([launched.Job(case, compiler.compile(case.source())) for case in cases]))  # noqa: S301  (our own)
    for _ in range(2):
        assert launched.launch_all(device, jobs, tmp_path / "log.jsonl")
    device.close()
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["kernel"] for record in records] == ["strideExact", "readFar"]
    assert [bool(record["error"]) for record in records] == [False, True]


def test_without_a_gpu_it_says_so_in_one_line(tmp_path):
    """No traceback, and no table."""
    command = [sys.executable, str(ROOT / "benchmarks" / "checked.py"), "gpu", "--work", str(tmp_path)]
    own = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, len(done.stderr.splitlines()), done.stdout) == (1, 1, ""), done.stderr
