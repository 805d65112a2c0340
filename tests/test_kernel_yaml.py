import copy

import pytest
import yaml
from support import KERNELS, case_of, shipped

from runner.errors import UsageError
from runner.kernel import from_yaml

SOUND = yaml.safe_load(
    """
parameters: {block: 256, size: 1Ki, dtype: {default: int32, allowed: [int32, int64]}, twist: 3}
macros: {SCALAR: dtype}
arguments:
  - {name: x, role: in, dtype: dtype, shape: size, fill: random}
  - {name: y, role: out, dtype: dtype, shape: size}
  - {name: n, scalar: int32, value: size}
grid: ceil_div(size, block)
constraints: [{require: twist > 0, reason: it would not turn}]
bytes: {read: size * itemsize(dtype)}
reference: {y: x + twist}
"""
)


@pytest.fixture
def yaml_path(tmp_path):
    """A kernel's YAML with a source beside it."""
    (tmp_path / "mine.cu").write_text("")
    return tmp_path / "mine.yaml"


def test_a_sound_declaration_is_read(yaml_path):
    """What the YAML says stands in the kernel."""
    kernel = from_yaml.read("mine", SOUND, yaml_path)
    assert [p.name for p in kernel.parameters] == ["block", "size", "dtype", "twist", "cache"]
    assert kernel.source == yaml_path.with_name("mine.cu").resolve()


def test_what_a_kernel_may_leave_out_is_nothing(yaml_path):
    """Without the keys a kernel runs anywhere, says nothing of its loads, and each access is of one element."""
    accesses = [{"memory": "global", "kind": "load", "index": 0}]
    kernel = from_yaml.read("mine", {**SOUND, "accesses": accesses}, yaml_path)
    assert (kernel.gpu_only, kernel.in_flight, kernel.accesses[0].vector({})) == ("", None, 1)
    full = from_yaml.read("mine", {**SOUND, "gpu_only": "it is PTX", "in_flight": "twist * 16"}, yaml_path)
    assert full.gpu_only == "it is PTX"
    assert case_of(full, twist=2).count("in_flight") == 32
    less = from_yaml.read("mine", {**SOUND, "in_flight": "2 - twist"}, yaml_path)
    assert case_of(less).excluded == "in_flight would be -1; it is 0 or more"
    constant = from_yaml.read("mine", {**SOUND, "in_flight": -16}, yaml_path)
    assert case_of(constant).excluded == "in_flight would be -16; it is 0 or more"


def test_every_kernel_has_a_cache_preference(yaml_path):
    """It need not be declared, and at `none` it is no part of the case's identity."""
    kernel = from_yaml.read("mine", SOUND, yaml_path)
    assert "cache" not in case_of(kernel, cache="none").chosen
    assert case_of(kernel, cache="l1").chosen["cache"] == "l1"
    assert case_of(kernel).id != case_of(kernel, cache="l1").id
    assert "none, shared, l1, equal" in case_of(kernel, cache="l2").excluded


CHANGES = {
    "an unknown key": (["gird"], 1, "'gird' is no key here"),
    "no grid": (["grid"], None, "the key 'grid' is missing"),
    "no reference": (["reference"], None, "the key 'reference' is missing"),
    "another name": (["name"], "other", "must be the file's own name"),
    "no such source": (["source"], "nope.cu", "there is no file 'nope.cu'"),
    "an unknown role": (["arguments", 0, "role"], "input", "'input' is none of in, out"),
    "no fill": (["arguments", 0, "fill"], 5, "text is expected"),
    "an unknown fill": (["arguments", 0, "fill"], "noise", "'noise' is none of"),
    "an unknown dtype": (["arguments", 0, "dtype"], "int33", "'int33' is no dtype"),
    "a misspelt parameter": (["grid"], "ceil_div(sise, block)", "names 'sise', which is no parameter"),
    "a misspelt array": (["reference", "y"], "z + 1", "names 'z', which is neither an array nor a parameter"),
    "a reference to no output": (["reference"], {"x": "y"}, "an expression for each of y is expected"),
    "a short macro": (["macros"], {"N": "size"}, "four or more of A-Z"),
    "a reserved parameter": (["parameters", "status"], 1, "'status' is reserved"),
    "an odd parameter": (["parameters", "Big-Size"], 1, "is no name for a parameter"),
    "a default that is not allowed": (["parameters", "dtype", "default"], "float32", "none of the allowed values"),
    "a default that cannot be read": (["parameters", "block"], "many", "is expected"),
    "no reason": (["constraints", 0, "reason"], None, "the key 'reason' is missing"),
    "a constraint that calls": (["constraints", 0, "require"], "open('x')", "calls what is none of the functions"),
    "a list where keys belong": (["parameters"], [1], "keys with values are expected"),
    "a number where text belongs": (["family"], 5, "text is expected"),
    "an unknown finish": (["finish"], "later", "'later' is none of host, device"),
    "four dimensions": (["grid"], [1, 1, 1, 1], "1 to 3 expressions"),
    "no architecture": (["min_arch"], "hopper", "an architecture such as sm_90"),
    "a reference that is no path": (["reference"], "expected", "is no dotted path"),
    "numbers that are none": (["arguments", 0, "fill"], [1, "1/0"], "numbers such as 0.5 or -1/280 are expected"),
    "an unknown shuffle": (["shuffle"], {"operation": "sideways", "argument": 1}, "'sideways' is none of idx, wrap"),
    "a shuffle of a kernel without lanes": (
        ["shuffle"],
        {"operation": "up", "argument": 1},
        "has no parameter 'width'",
    ),
    "a hazard without a rule": (["hazard"], {"when": "twist == 3"}, "the key 'reason' is missing"),
    "a hazard of nothing known": (["hazard"], {"when": "fixed == 1", "reason": "x"}, "names 'fixed'"),
    "a gpu_only without a reason": (["gpu_only"], "", "gpu_only: a reason is expected, not ''"),
    "a gpu_only of nothing but space": (["gpu_only"], "  ", "gpu_only: a reason is expected, not '  '"),
    "a gpu_only that is no text": (["gpu_only"], True, "gpu_only: text is expected, not 'true'"),
    "loads of nothing known": (["in_flight"], "vectors * 16", "in_flight: 'vectors * 16' names 'vectors'"),
    "a vector by threads": (
        ["accesses"],
        [{"memory": "global", "kind": "load", "index": 0, "vector": "thread_x"}],
        "vector: 'thread_x' names 'thread_x'",
    ),
    "an access to no memory": (
        ["accesses"],
        [{"memory": "local", "kind": "load", "index": 0}],
        "none of shared, global",
    ),
    "an access of no kind": (["accesses"], [{"memory": "shared", "kind": "swap", "index": 0}], "none of load, store"),
    "an access at nothing known": (
        ["accesses"],
        [{"memory": "shared", "kind": "load", "index": "thread_z"}],
        "names 'thread_z'",
    ),
    "another cache": (["parameters", "cache"], {"default": "l2"}, "'l2' is none of none, shared, l1, equal"),
    "a constant that may be one": (["arguments", 1, "constant"], "no", "true or false is expected"),
    "a thread where there is none": (["grid"], "thread_x", "names 'thread_x'"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_wrong_is_told_in_one_sentence(change, yaml_path):
    """Every way to get a YAML wrong is told with the file, the key, the value and what is allowed."""
    where, value, told = CHANGES[change]
    broken = copy.deepcopy(SOUND)
    at = broken
    for key in where[:-1]:
        at = at[key]
    at[where[-1]] = value
    with pytest.raises(UsageError) as raised:
        from_yaml.read("mine", broken, yaml_path)
    assert told in str(raised.value)
    assert "mine.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [None, [], "text", 5])
def test_a_yaml_without_keys_is_refused(content, yaml_path):
    """An empty file, a list or plain text is no declaration."""
    with pytest.raises(UsageError, match="keys with values are expected"):
        from_yaml.read("mine", content, yaml_path)


@pytest.mark.parametrize("name", KERNELS)
def test_a_shipped_kernel_says_what_a_reader_needs(name):
    """Every kernel has a summary, its origin, a baseline of its family, and a source whose header explains it."""
    kernel = shipped(name)
    assert kernel.summary
    assert kernel.origin
    assert shipped(kernel.baseline).family == kernel.family
    header = kernel.source.read_text(encoding="utf-8").partition("#")[0]
    assert header.startswith(f"// {name}: ")
    for part in ("New", "Macros", "Constraints", "From"):
        assert f"// {part}" in header


@pytest.mark.parametrize("name", KERNELS)
def test_a_shipped_source_is_short(name):
    """A kernel is 20 to 90 lines, so that neighbours in a family can be held side by side."""
    lines = shipped(name).source.read_text(encoding="utf-8").splitlines()
    assert 20 <= len(lines) <= 90
    assert max(map(len, lines)) <= 120
