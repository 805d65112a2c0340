"""Everyday kernels by YAML alone: their inputs and their references are lines of it."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from support import case_of, read_kernel

FOLDER = Path(__file__).parent / "everyday"
YAMLS = yaml.safe_load((FOLDER / "everyday.yaml").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A YAML for each kernel, and the one source."""
    path = tmp_path_factory.mktemp("everyday")
    (path / "everyday.cu").write_text((FOLDER / "everyday.cu").read_text())
    np.save(path / "numbers.npy", np.random.default_rng(7).uniform(-1, 1, 300).astype(np.float32))
    for name, content in YAMLS.items():
        (path / f"{name}.yaml").write_text(yaml.safe_dump({**content, "source": "everyday.cu"}, sort_keys=False))
    return path


@pytest.mark.parametrize("name", YAMLS)
def test_an_everyday_kernel_is_right(bench, folder, name):
    """A right kernel is within the bound of its reference, for its own inputs and for exact ones."""
    outcome = bench.run(case_of(read_kernel(folder / f"{name}.yaml")), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert not outcome.note, outcome.note
