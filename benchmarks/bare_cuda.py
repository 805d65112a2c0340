"""What a person would write for one kernel: import, load a cubin, check, time, write a CSV. See benchmarks/startup.py.

python benchmarks/bare_cuda.py CUBIN
"""

import sys

import numpy as np
import pandas as pd
from pycuda import driver

SIZE, BLOCK, SAMPLES = 2**20, 256, 100

driver.init()
context = driver.Device(0).retain_primary_context()
context.push()
kernel = driver.module_from_file(sys.argv[1]).get_function("reduceShfl")
given = np.random.default_rng(0).integers(0, 256, SIZE, np.int32)
blocks = SIZE // BLOCK
out = np.empty(blocks, np.int32)
given_there, out_there = driver.to_device(given), driver.mem_alloc(out.nbytes)
flush_words = 2 * driver.Device(0).get_attribute(driver.device_attribute.L2_CACHE_SIZE) // 4
flush = driver.mem_alloc(4 * flush_words)
stream, start, end = driver.Stream(), driver.Event(), driver.Event()
kernel.prepare("PPq")
times = []
for _ in range(SAMPLES):
    driver.memset_d32_async(int(flush), 0, flush_words, stream)
    start.record(stream)
    kernel.prepared_async_call((blocks, 1), (BLOCK, 1, 1), stream, given_there, out_there, SIZE)
    end.record(stream)
    end.synchronize()
    times.append(start.time_till(end) * 1000)
driver.memcpy_dtoh(out, out_there)
if not np.array_equal(out, given.reshape(blocks, BLOCK).sum(axis=1, dtype=np.int32)):
    sys.exit("the sums are wrong")
pd.DataFrame({"us": times}).to_csv("bare.csv", index=False)
print(f"reduceShfl: {np.median(times):.1f} us")
context.pop()
