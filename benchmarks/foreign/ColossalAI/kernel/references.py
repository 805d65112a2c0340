import ml_dtypes
import numpy as np


def small(inputs, parameters, grid):
    largest = float(ml_dtypes.finfo(ml_dtypes.float8_e5m2).max)
    numbers = np.clip(inputs["ins_data"], -largest, largest)
    return {"outs_data": numbers.astype(ml_dtypes.float8_e5m2).view(np.uint8)}
