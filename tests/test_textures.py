"""Textures on each device: filters, addresses, coordinates and element types; and what a wrong use is told."""

import subprocess

import numpy as np
import pytest
import yaml
from support import ROOT, Bench, case_of, read_kernel

from runner.device.kinds import compiler_for, open_device
from runner.errors import Hazard, UsageError
from runner.kernel import from_yaml
from runner.kernel.contents import contents
from runner.kernel.reference import expect
from runner.settings import DeviceConfig

FOLDER = ROOT / "tests" / "kernels" / "cuda"
YAML = FOLDER / "textures.yaml"


def test_every_kind_of_texture(bench):
    """All rows are right for two sets of inputs; on the CPU device to the last places, as the Guide says."""
    case = case_of(read_kernel(YAML))
    outcome = bench.run(case, samples=2)
    assert (outcome.status, outcome.reason) == ("ok", "")
    if bench.device.info.emulated:
        found = bench.outputs(case)[0]["out"]
        expected = expect(case, contents(case), fast=False).outputs["out"].values
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


WRONG = {
    "a dtype": ({"dtype": "float64"}, "argument 'image': texture: no texture has elements of float64"),
    "an output": ({"role": "out"}, "texture: only an array of the role 'in' without offset, lead and constant has one"),
    "a word": ({"texture": "nearest"}, "texture: 'nearest' is not a valid texture; allowed: fetch, point, linear"),
    "an address": ({"texture": {"address": "wrap"}}, "texture: address: wrap needs normalized_coordinates: true"),
    "two dimensions": ({"texture": "fetch"}, "texture: fetch is for tex1Dfetch and needs an array of one dimension"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_in_the_yaml_is_one_sentence(what):
    """With the file, the argument, the value and what is allowed."""
    change, said = WRONG[what]
    content = yaml.safe_load(YAML.read_text())
    content["arguments"][1] = {
        k: v for k, v in {**content["arguments"][1], **change}.items() if k != "fill" or change.get("role") != "out"
    }
    with pytest.raises(UsageError, match=r"textures\.yaml") as caught:
        case_of(from_yaml.read("textures", content, YAML)).arrays()
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("call", "other", "said"),
    [
        ("tex2D<float>(image", "tex2D<int>(image", "tex2D reads another type than the texture has: 1 of float32"),
        ("tex1D<float>(line, ", "tex2D<float>(line, 0, ", "tex2D cannot read this texture, which has another number"),
        ("tex1D<float>(line, ", "tex1D<float>(table, ", "tex1D cannot read this texture, which is linear memory"),
    ],
)
def test_a_texture_of_another_kind_is_a_hazard(tmp_path, call, other, said):
    """On a GPU the result would be garbage; the CPU device names the call's line."""
    source = FOLDER / "textures.cu"
    (tmp_path / "textures.cu").write_text(source.read_text().replace(call, other))
    (tmp_path / "textures.yaml").write_text(YAML.read_text())
    (tmp_path / "references").symlink_to(FOLDER / "references")
    config = DeviceConfig(kind="cpu", threads=2)
    device = open_device(config)
    bench = Bench(device, compiler_for(config, device.info))
    line = next(n for n, text in enumerate(source.read_text().splitlines(), 1) if call in text)
    with pytest.raises(Hazard, match=f"textures.cu:{line}: {said}"):
        bench.outputs(case_of(read_kernel(tmp_path / "textures.yaml")))


@pytest.mark.nvcc
def test_nvcc_compiles_the_same(tmp_path):
    """The kernel is CUDA."""
    command = ["nvcc", "-ptx", "-arch=sm_90", "-o", str(tmp_path / "out.ptx"), str(FOLDER / "textures.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
