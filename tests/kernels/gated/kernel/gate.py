import os
import pathlib
import time

import numpy as np


def ones(inputs, parameters, grid):
    """Ones, once the gate is open."""
    while parameters["block"] == 128 and not pathlib.Path(os.environ["RUNNER_TEST_GATE"]).exists():
        time.sleep(0.05)
    return {"out": np.ones(int(parameters["size"]), np.float32)}
