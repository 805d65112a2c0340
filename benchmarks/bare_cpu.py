"""What a person would write for one kernel on the CPU device, without a sweep. See benchmarks/startup.py.

python benchmarks/bare_cpu.py SOURCE SHARED_OBJECT
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from runner.device import Binary, Launch, Role, Source
from runner.device.cpu.device import CpuDevice

SIZE, BLOCK, SAMPLES = 2**20, 256, 3

device = CpuDevice()
path, binary = map(Path, sys.argv[1:])
program = device.load(Source(path, path.read_text(), "reduceShfl"), Binary(binary, "", 0.0, cached=True))
given = np.random.default_rng(0).integers(0, 256, SIZE, np.int32)
blocks = SIZE // BLOCK
given_there = device.place("in", given, Role.IN)
out_there = device.place("out", np.zeros(blocks, np.int32), Role.OUT)
launch = Launch(program, (blocks, 1, 1), (BLOCK, 1, 1), 0, (given_there, out_there, np.int64(SIZE)))
times = device.sample([launch] * SAMPLES, 60.0, lambda _: None, lambda _: None).us
if not np.array_equal(out_there.read(), given.reshape(blocks, BLOCK).sum(axis=1, dtype=np.int32)):
    sys.exit("the sums are wrong")
pd.DataFrame({"us": times}).to_csv("bare.csv", index=False)
print(f"reduceShfl: {np.median(times):.1f} us")
