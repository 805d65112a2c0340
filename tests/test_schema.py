"""The JSON schema by which editors complete a kernel's YAML: it is the reader's own tables, and takes what they take."""

import json

import pytest
import yaml
from support import MINE, ROOT, SHIPPED
from test_kernel_yaml import KEYS as MISTAKES

from runner.kernel.from_yaml import KEYS
from runner.kernel.yaml_schema import text

TRACKED = ROOT / "conf" / "kernel.schema.json"
SCHEMA = json.loads(text())
NO_KERNELS = (
    "families/adders",
    "own/experiment/mine",
    "programs/mine",
    "orders/races",
    "races/races",
)  # tests complete these


def validator():
    """A validator of the draft that the schema names."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    return jsonschema.Draft7Validator(SCHEMA)


def kernels():
    """The YAMLs of kernels that the project holds."""
    paths = sorted(path for folder in ("conf", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.yaml"))
    found = [p for p in paths if p.parent.name == "kernel" or p.is_relative_to(ROOT / "tests" / "kernels")]
    return [p for p in found if not str(p.with_suffix("")).endswith(NO_KERNELS)]


def test_the_tracked_schema_is_what_the_command_prints(runner):
    """`runner show --schema > conf/kernel.schema.json` writes it."""
    assert runner("--schema", module="runner.commands.show").out == TRACKED.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_a_shipped_kernel_names_the_schema(path):
    """In the first line, relative to itself."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../kernel.schema.json"
    assert (path.parent / first.partition("=")[2]).samefile(TRACKED)


def test_the_schema_has_the_keys_of_the_reader():
    """All of them, and Hydra's list of defaults."""
    assert set(SCHEMA["properties"]) == {*KEYS, "defaults"}
    assert not SCHEMA["additionalProperties"]


def test_every_kernel_of_the_project_is_valid():
    """Those that come with it, those of benchmarks, and those of tests."""
    known = validator()
    paths = kernels()
    assert len(paths) > 300
    wrong = {str(p): [e.message for e in known.iter_errors(yaml.safe_load(p.read_text("utf-8")))] for p in paths}
    assert {name: messages for name, messages in wrong.items() if messages} == {}


FORMS = {
    "a computed block": {"parameters": "{BM: 64, block: [BM // 2, 4], size: 9, tile: {default: BM, kind: integer}}"},
    "rows": {"parameters": "{block: 64, rows: 9, cols: 8}"},
    "infinities": {"arguments": "[{name: a, role: in, dtype: float32, shape: [1, 2, 3, 4], fill: [-.inf, nan, 1/3]}]"},
    "another infinity": {"arguments": "[{name: a, role: in, dtype: mine, shape: size, fill: -inf}]"},
    "launches": {"launches": "[{for: {i: 3}, launches: [{function: f, block: [i, 2]}]}, {grid: 3, for: {J: 2}}]"},
}


@pytest.mark.parametrize("what", FORMS)
def test_every_form_of_a_value_is_valid(what):
    """Lists, mappings and words, as the documentation shows them."""
    content = yaml.safe_load("".join(f"{key}: {value}\n" for key, value in {**MINE, **FORMS[what]}.items()))
    assert [e.message for e in validator().iter_errors(content)] == []


SLIPS = {
    "a parameter in the place of a key": {"block": "16x16"},
    "a misspelt key": {"argumnets": "[]"},
    "a misspelt role": {"arguments": "[{name: out, role: output, dtype: int32, shape: size}]"},
    "five axes": {"arguments": "[{name: out, role: out, dtype: int32, shape: [1, 2, 3, 4, 5]}]"},
    "an argument without a role": {"arguments": "[{name: out, dtype: int32, shape: size}]"},
    "a value without a type": {"arguments": "[{name: n, value: size}]"},
    "a grid by name": {"grid": "{x: 1, y: 2}"},
    "a fraction of a grid": {"grid": "1.5"},
    "bytes without a direction": {"bytes": "8 * size"},
    "parameters in a list": {"parameters": "[block, size]"},
    "a column's name": {"parameters": "{block: 64, samples: 3}"},
    "a name with a hyphen": {"parameters": "{block: 64, my-tile: 3}"},
    "a misspelt kind": {"parameters": "{block: 64, tile: {default: 3, kind: int}}"},
    "values of a parameter": {"parameters": "{block: 64, tile: {default: 3, values: [3]}}"},
    "a constraint without a reason": {"constraints": "[size > 0]"},
    "a texture's mode": {
        "arguments": "[{name: a, role: in, dtype: int32, shape: 1, fill: zeros, texture: {filter: point}}]"
    },
    "no reference": {"reference": None},
    "no arguments": {"arguments": None},
}


@pytest.mark.parametrize("what", SLIPS)
def test_a_slip_is_not_valid(what):
    """An editor marks what the reader would refuse."""
    lines = {**MINE, **SLIPS[what]}
    content = yaml.safe_load("".join(f"{key}: {value}\n" for key, value in lines.items() if value is not None))
    assert list(validator().iter_errors(content))


@pytest.mark.parametrize(
    "what", ["a misspelt key", "a capital", "a list for the bytes", "an unknown kind", "a reserved parameter"]
)
def test_what_the_reader_refuses_by_its_form_is_not_valid(what):
    """The mistakes of form among those of the reader's own tests."""
    lines = {**MINE, **MISTAKES[what][0]}
    content = yaml.safe_load("".join(f"{key}: {value}\n" for key, value in lines.items() if value is not None))
    assert list(validator().iter_errors(content))
