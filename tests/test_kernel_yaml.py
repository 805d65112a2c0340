"""A kernel's YAML: what it may say, what it may leave out, and the sentence for each mistake in it."""

import json
import re
import shlex

import pytest
from support import KERNELS as SHIPPED
from support import MINE, ROOT, case_of, read_kernel, shipped
from support import MINE_CU as CU
from support import mine_yaml as yaml_of

from runner.errors import UsageError
from runner.kernel.reference import find
from runner.kernel.yaml_reader import read_parameters


@pytest.fixture
def read(tmp_path):
    """Read the kernel `mine`, with some keys written otherwise; further files by their paths."""

    def call(files=None, **keys):
        everything = {"kernel/mine.cu": CU, "kernel/mine.yaml": yaml_of(**keys), **(files or {})}
        for name, content in everything.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(content)
        return read_kernel(tmp_path / "kernel" / "mine.yaml")

    return call


def test_the_source_may_lie_in_the_folder_of_kernels(read, tmp_path):
    """Without `source`, NAME.cu beside the YAML counts, else the one in ../../kernels."""
    folder = tmp_path / "conf" / "kernel"
    folder.mkdir(parents=True)
    read({"kernels/mine.cu": CU})
    (folder / "mine.yaml").write_text(yaml_of())
    assert read_kernel(folder / "mine.yaml").source == tmp_path / "kernels" / "mine.cu"
    (folder / "mine.cu").write_text(CU)
    assert read_kernel(folder / "mine.yaml").source == folder / "mine.cu"


@pytest.mark.parametrize(
    "text",
    [
        "name: k\nparameters:\n  # how many\n\n  block: 128\n# further ones\n  tile: 4\ngrid: 1\n",
        "parameters: {block: 128, tile: 4}\n",
        "{name: k, parameters: {block: 128, tile: 4}}",
        "sizes: &sizes {block: 128, tile: 4}\nparameters: *sizes\n",
        '"parameters":\n  block: 128\n  tile: 4\n',
    ],
)
def test_the_parameters_of_a_kernel_are_found_however_they_are_written(text, tmp_path):
    """They become keys of the command line; where they are lines of their own, the rest of the file is not parsed."""
    (path := tmp_path / "k.yaml").write_text(text)
    assert read_parameters(path) == {"block": 128, "tile": 4}
    path.write_text(text.replace("parameters", "others"))
    assert read_parameters(path) is None


def test_counts_are_expressions(read):
    """`in_flight` and the like follow the parameters; a negative count makes no case."""
    kernel = read(in_flight="block - 32")
    assert case_of(kernel, block=64).count("in_flight") == 32
    assert case_of(kernel, block=16).excluded.startswith("in_flight would be -16; expected 0")


def test_the_cache_preference_changes_a_case_unless_it_is_none(read):
    """At `none` it is no part of the case's identity."""
    kernel = read()
    assert "cache" not in case_of(kernel, cache="none").shown_parameters
    assert case_of(kernel).id == case_of(kernel, cache="none").id != case_of(kernel, cache="l1").id
    assert "none, shared, l1, equal" in case_of(kernel, cache="l2").excluded


def test_a_macro_is_the_parameter_of_its_name(read):
    """A name alone is the parameter in lower case, SCALAR is `dtype`; another expression can be given."""
    macros = "[BLOCK, BLOCK_X, {TWICE: 2 * block, HALF: block // 2}, SCALAR]"
    source = case_of(read(macros=macros), block="32x2", dtype="float64").source()
    assert source.macros == (
        ("BLOCK", "64"), ("BLOCK_X", "32"), ("TWICE", "128"), ("HALF", "32"), ("SCALAR", "double"),
    )  # fmt: skip


def test_blocks_have_one_dimension_unless_the_kernel_says_otherwise(read):
    """It says so by a default block of two dimensions, or by using block_y."""
    assert (
        "numbers its threads in x alone (block_y * block_z == 1 does not hold" in case_of(read(), block="32x2").excluded
    )
    assert not case_of(read(parameters="{block: 32x2, size: 1000}"), block="16x4").excluded
    assert not case_of(read(grid="ceil_div(size, block_x * block_y)"), block="32x2").excluded
    assert not case_of(read(shared="0 * rows_of_it", let="{rows_of_it: block_y}"), block="32x2").excluded
    assert "in x alone" in case_of(read(let="{rows_of_it: block_y}"), block="32x2").excluded


@pytest.mark.parametrize("given", ["{size > 8: too few}", "[{require: size > 8, reason: too few}]"])
def test_a_constraint_is_a_condition_and_its_reason(given, read):
    """As `condition: reason`, or as a list."""
    assert case_of(read(constraints=given), size=8).excluded == "too few (size > 8 does not hold for size=8)"


def test_an_expression_may_have_a_name(read):
    """A definition may use others, in any order; the parameters in it count in a reason."""
    kernel = read(
        let="{tiles: 'ceil_div(size, tile)', tile: block * 2}", grid="tiles", constraints="{tiles < 9: too many}"
    )
    assert case_of(kernel, size=1000, block=64).grid == (8, 1, 1)
    told = case_of(kernel, size=2000, block=64).excluded
    assert told == "too many (ceil_div(size, block * 2) < 9 does not hold for block=64, size=2000)"


FAMILY = (ROOT / "tests" / "kernels" / "families" / "adders.yaml").read_text()


def test_an_argument_may_be_called_as_the_parameter_that_it_is(read):
    """As in the source; and a number in quotes, or one that YAML takes for text, is a number."""
    arguments = MINE["arguments"].replace("name: n,", "name: size,")
    arguments += '\n  - {name: small, scalar: float32, value: 1e-5}\n  - {name: quoted, scalar: float32, value: "0.5"}'
    assert [a.numbers[0] for a in case_of(read(arguments=arguments)).arguments()[2:]] == [1000, 1e-5, 0.5]


def test_a_family_gives_what_its_kernels_have_in_common(read):
    """Parameters, constraints and `let` add up; the kernel's other keys replace the family's."""
    files = {"family/adders.yaml": FAMILY}
    kernel = read(files, family="adders", grid=None, shared="twice * 4", constraints="{size > 8: too few}")
    case = case_of(kernel)
    assert case.parameters == (
        ("block", "64"),
        ("size", 1000),
        ("dtype", "int32"),
        ("cache", "none"),
        ("compile_options", "none"),
        ("extra", 7),
    )
    assert (kernel.finish, kernel.common.name, case.grid, case.shared) == ("host", "adders.yaml", (16, 1, 1), 56)
    assert [c.reason for c in kernel.constraints[1:]] == ["nothing to add", "too few"]
    assert read(files, family="adders", finish="device").finish == "device"
    with pytest.raises(UsageError, match=r"'sise'.* \(mine.yaml is read with family/adders.yaml\)"):
        read({"family/adders.yaml": FAMILY.replace("(size", "(sise")}, family="adders", grid=None)
    with pytest.raises(UsageError, match=r"family/adders\.yaml: 'name' is not a valid key"):
        read({"family/adders.yaml": "name: adders"}, family="adders")


def test_a_family_may_name_the_file_of_its_kernels(read, tmp_path):
    """Relative to the family's folder; a kernel's own source replaces it."""
    files = {"family/adders.yaml": f"source: ../src/all.cu\n{FAMILY}", "src/all.cu": CU}
    assert read(files, family="adders", grid=None).source == tmp_path / "src" / "all.cu"
    assert read(files, family="adders", grid=None, source="mine.cu").source == tmp_path / "kernel" / "mine.cu"


def test_a_family_without_a_file_is_a_name(read):
    """Kernels of one family are compared by their time, whether or not it has a file."""
    assert (read(family="adders").family, read(family="adders").common) == ("adders", None)


REFERENCE = "def expected(inputs, parameters, grid): return {'out': inputs['in'] + 1}\n"


@pytest.mark.parametrize("place", ["kernel/mine_too.py", "kernels/mine_too.py", "kernels/references/mine_too.py"])
def test_a_reference_is_found_in_three_folders(place, read):
    """Beside the YAML, beside the `.cu`, and in references/ beside the `.cu`."""
    kernel = read(
        {"kernels/other.cu": CU, place: REFERENCE}, reference="mine_too.expected", source="../kernels/other.cu"
    )
    assert find(kernel)({"in": 1}, {}, (1, 1, 1)) == {"out": 2}


# What is written for which key, and words of the sentence.
DOUBLING = json.dumps({f"s{n}": dict.fromkeys("ab", f"s{n - 1}") if n else {"a": "float32"} for n in range(21)})
KEYS = {
    "a key of an older version": ({"accesses": "[]"}, "mine.yaml: accesses: "),
    "a misspelt key": ({"argumnets": "[]"}, "mine.yaml: 'argumnets' is not a valid key; did you mean arguments?"),
    "a capital": ({"Grid": "1"}, "mine.yaml: 'Grid' is not a valid key; did you mean grid?"),
    "structures that double": ({"structs": DOUBLING}, "structs.s15: a structure has at most 16,384 numbers, not 32,768"),
    "a path for a family": ({"family": "../../x"}, "mine.yaml: family: expected a name, such as transpose, not the path"),
    "no grid": ({"grid": None}, "mine.yaml: the key 'grid' is missing"),
    "another name": ({"name": "other"}, "mine.yaml: name: expected 'mine', as the file is named, not 'other'"),
    "an endless device": ({"source": "/dev/zero"}, "mine.yaml: source: '/dev/zero' is not a file, but a folder, a pipe or a device"),
    "a very long file": ({"source": "x" * 5000}, "cannot be read: File name too long"),
    "no architecture": ({"min_arch": "9.0"}, "mine.yaml: min_arch: expected an architecture such as sm_90, not '9.0'"),
    "a list for the bytes": ({"bytes": "[1]"}, "mine.yaml: bytes: expected a mapping (key: value), not '[1]'"),
    "a misspelt value": ({"value": "sum(nope)"}, "mine.yaml: value: 'sum(nope)' names 'nope'"),
    "an unknown function": ({"value": "median(out)"}, "mine.yaml: value: 'median(out)' calls an unknown function, median; allowed: matmul"),
    "a reserved parameter": ({"parameters": "{status: 1}"}, "mine.yaml: parameters: 'status' is reserved"),
    "a parameter without a value": ({"parameters": "{block: null}"}, "mine.yaml: parameters.block: a default value is missing"),
    "an unknown kind": ({"parameters": "{mine: {default: 1, kind: float}}"}, "kind: 'float' is not a valid kind; allowed: integer, number, real, boolean, size"),
    "a default that is not allowed": ({"parameters": "{mine: {default: 1, allowed: [2]}}"}, "the default 1 is not one of the allowed values"),
    "a macro of no name": ({"macros": "{2N: 1}"}, "mine.yaml: macros: '2N': expected a name of letters, digits and _"),
    "a macro that is no parameter": ({"macros": "[BLOCKS]"}, "mine.yaml: macros.BLOCKS: 'blocks' names 'blocks'"),
    "a constraint without reason": ({"constraints": "[{require: size > 0}]"}, "constraints[0]: the key 'reason' is missing"),
    "a condition without reason": ({"constraints": "{size > 0: }"}, "constraints: size > 0: expected text, not 'null'"),
    "an assignment": ({"constraints": "[{require: size = 5, reason: x}]"}, "require: 'size = 5' is not a valid expression"),
    "an unknown shuffle": ({"shuffle": "{operation: rotate, argument: 1}"}, "'rotate' is not a valid operation; allowed: idx, wrap"),
    "a shuffle without lanes": ({"shuffle": "{operation: up, argument: 1}"}, "it needs the parameter 'width'"),
    "a name for itself": ({"let": "{a: b, b: a}"}, "is defined by itself"),
    "a thread in a grid": ({"let": "{t: thread_x}", "grid": "t"}, "mine.yaml: let: t: 'thread_x' names 'thread_x'"),
    "another cache": ({"parameters": "{cache: l2}"}, "'l2' is not a cache preference; allowed: none, shared, l1, equal"),
    "a hazard without a rule": ({"hazard": "{when: size > 0}"}, "mine.yaml: hazard: the key 'reason' is missing"),
    "a GPU without a word": ({"gpu_only": ""}, "mine.yaml: gpu_only: expected a reason, not 'null'"),
    "a parameter in the place of a key": ({"block": "16x16"}, "mine.yaml: 'block' is not a valid key; a parameter goes under 'parameters': parameters: {block: 16x16}"),
    "a parameter of its own in the place of a key": ({"bm": "64"}, "mine.yaml: 'bm' is not a valid key; a parameter goes under 'parameters': parameters: {bm: 64}"),
    "threads": ({"threads_per_block": "64"}, "a parameter goes under 'parameters': parameters: {block: 64}"),
    "an axis of the grid": ({"grid_x": "64"}, "mine.yaml: 'grid_x' is not a valid key; write grid: [x, y, z]"),
    "arguments by another name": ({"args": "[]"}, "mine.yaml: 'args' is not a valid key; did you mean arguments?"),
    "restrictions of Kernel Tuner": ({"restrictions": "[]"}, "did you mean constraints?"),
    "macros as options": ({"macros": "[BLOCK=block]"}, "expected a name of letters, digits and _, or {NAME: expression}"),
    "parameters in a list": ({"parameters": "[block]"}, "mine.yaml: parameters: expected a mapping (key: value), not '['block']'"),
    "values of a parameter": ({"parameters": "{mine: {default: 1, values: [1]}}"}, "'values' is not a valid key; did you mean allowed?"),
    "conditions without reasons": ({"constraints": "[size > 0]"}, "mine.yaml: constraints: expected {condition: reason}, such as"),
    "a condition": ({"constraints": "size > 0"}, "mine.yaml: constraints: expected {condition: reason}, such as"),
    "a torn default": ({"parameters": "{block: min(size, 64), size: 9}"}, "mine.yaml: parameters: '64)' is not a valid name; a comma ends a value"),
    "a word of YAML": ({"parameters": "{ON: 3}"}, "'true' is not a valid name; allowed: up to 32 letters, digits and _, starting with a letter; in YAML, on, off"),
    "a torn mapping": ({"bytes": "{read: ceil_div(size, 2)}"}, "mine.yaml: bytes: '2)' is not a valid key; a comma ends a value in [] and {}, so quote it"),
    "a file that is no source": ({"source": "/etc/passwd"}, "mine.yaml: source: '/etc/passwd' is no source by its name; expected a file that ends in .cu"),
    "a number for the macros": ({"macros": "5"}, "mine.yaml: macros: '5': expected a name of letters, digits and _, or {NAME: expression}"),
    "a list for a macro": ({"macros": "[[BLOCK]]"}, "expected a name of letters, digits and _, or {NAME: expression}"),
    "a metric without a value": ({"metrics": "{m: 1 / 0}"}, "mine.yaml: metrics.m: '1 / 0' cannot be evaluated: division by zero"),
    "a kind that is none of a parameter of everyone": ({"parameters": "{block: {default: 1, kind: antigravity.x}}"}, "'antigravity.x' is not a valid kind; allowed: integer"),
    "an empty text for metrics": ({"metrics": "''"}, "mine.yaml: metrics: expected a mapping (key: value), not ''"),
    "no allowed value": ({"parameters": "{mine: {default: 1, allowed: []}}"}, "parameters.mine: allowed: expected at least one value"),
    "no launch": ({"launches": "[]"}, "mine.yaml: launches: expected at least one step"),
    "infinity for a name": ({"parameters": "{inf: 3}"}, "mine.yaml: parameters: 'inf' is a keyword or a function"),
    "loads that are a list": ({"in_flight": "[16]"}, "mine.yaml: in_flight: expected an expression, not '[16]'"),
}  # fmt: skip

A = "- {name: in, role: in, dtype: int32, shape: size, fill: index}"
OUT = "\n  - {name: out, role: out, dtype: int32, shape: size}"
ARGUMENTS = {
    "a list of words": ("[in, out]", "mine.yaml: arguments[0]: expected a mapping (key: value), not 'in'"),
    "a word for a list": ("false", "mine.yaml: arguments: expected a list, not 'false'"),
    "keys with values": ("{in: 1}", "mine.yaml: arguments: expected a list"),
    "no name": ("[{role: in}]", "mine.yaml: arguments[0]: the key 'name' is missing"),
    "an unknown role": (f"\n  {A.replace('role: in', 'role: input')}", "arguments[0]: role: 'input' is not a valid role; allowed: in, out"),
    "an unknown dtype": (f"\n  {A.replace('int32', 'int')}{OUT}", "argument 'in': 'int' is not a dtype"),
    "a pointer of C": (f"\n  {A.replace('int32', 'const float*')}{OUT}", "'const float*' is not a dtype; did you mean float32?"),
    "no fill": (f"\n  {A.replace(', fill: index', '')}", "arguments[0]: the key 'fill' is missing"),
    "a number of a billion digits": (f"\n  {A.replace('fill: index', 'fill: [1e999999999]')}{OUT}", "arguments[0]: fill: expected numbers such as 0.5"),
    "an unknown fill": (f"\n  {A.replace('fill: index', 'fill: randon')}{OUT}", "argument 'in': fill: 'randon' is not a fill; allowed: zeros"),
    "a name twice": (f"\n  {A}\n  {A}", "arguments: 'in' is already the name of another argument"),
    "a parameter's name for a vector": (f"\n  {A}\n  - {{name: size, scalar: float2, value: [size, 0.5]}}", "'size' is already the name of another argument or of a parameter"),
    "a parameter's name": (f"\n  {A.replace('name: in', 'name: size')}", "'size' is already the name of another argument or of a parameter"),
    "a scalar of text": (f"\n  {A}\n  - {{name: n, scalar: int32, value: dtype}}{OUT}", "value: 'dtype' gives the text 'int32'"),
    "no output": (f"\n  {A}", "mine.yaml: arguments: no array has the role out or inout"),
    "a half constant": (f"\n  {A.replace('fill: index', 'fill: index, constant: maybe')}", "constant: expected true or false"),
}  # fmt: skip

GRIDS = {
    "a division": ("size / 2", "grid: 'size / 2' uses /; write // or ceil_div; allowed: + - * //"),
    "a fraction": ("1.5", "grid: expected an expression, not '1.5'"),
    "an empty list": ("[]", "grid: expected 1 to 3 expressions, not 0"),
    "a misspelt parameter": ("ceil_div(size, blokc)", "names 'blokc', which is not a parameter; known: block"),
    "too few arguments": (
        "ceil_div(size)",
        "calls ceil_div with other arguments than it takes: missing a required argument",
    ),
    "a division by zero": ("size // 0", "'size // 0' cannot be evaluated: integer division or modulo by zero"),
    "a huge exponent": ("2**9999", "cannot be evaluated: exponent 9999 is not within 0 to 128"),
    "itself": ("grid", "'grid' names 'grid', which is unknown; known: block"),
    "text": ("dtype", "'dtype' gives the text 'int32'; expected a number"),
    "an unknown dtype": ("itemsize(size)", "itemsize: '1000' is not a dtype; allowed: int32"),
    "a call into Python": (
        "'__import__(\"os\").abort()'",
        "calls an unknown function, __import__('os').abort; allowed: ceil_div",
    ),
    "a shape": ("16x16", "grid: expected an expression or a list, such as [16, 16], not '16x16'"),
    "a tuple": ("(size // block, 2)", "grid: expected an expression or a list, such as [size // block, 2], not"),
    "axes by name": ("{x: size, z: 3}", "grid: expected an expression or a list, such as [size, 1, 3], not"),
    "a torn list": (
        "[ceil_div(size, block), 1]",
        "grid: 'ceil_div(size' is not a valid expression; a comma ends a value",
    ),
    "a choice": ("size if block else 1", "'size if block else 1' uses if; allowed: + - * //"),
    "an f-string": ("f'{size}'", "uses an f-string; allowed: + - * //"),
    "other digits": ("\u0661\u0662", "is not a valid expression"),
}

REFERENCES = {
    "a word": ("nope", "mine.yaml: reference: 'nope' is not a dotted path"),
    "an expression for no output": ("in + 1", "write an expression as {OUTPUT: expression}"),
    "a module that is not there": (
        "no.such",
        "mine.yaml: reference no.such: cannot be imported: ModuleNotFoundError",
    ),
    "a function that is not there": ("wanted.nope", "the module 'wanted' has no function 'nope'"),
    "a module that does not load": (
        "spoilt.expected",
        "mine.yaml: reference spoilt.expected: cannot be imported: SyntaxError",
    ),
    "no output": ("{}", "mine.yaml: reference: expected expressions for out; found: none"),
    "a torn expression": (
        "{out: sum(in, axis=0)}",
        "found: out, axis=0); a comma ends a value in [] and {}, so quote it",
    ),
    "another output": ("{other: in + 1}", "expected expressions for out; found: other"),
    "a misspelt array": ("{out: ni + 1}", "reference.out: 'ni + 1' names 'ni', which is neither an array nor"),
    "text": ("""{out: "'in'"}""", "mine.yaml: reference.out: ''in'' is text; expected an expression"),
    "a roll without an amount": (
        "{out: roll(in)}",
        "calls roll with other arguments than it takes: missing a required",
    ),
    "an attribute": ("{out: in.T}", "mine.yaml: reference.out: 'in.T' names 'in.T', which is neither"),
    "an output": ("{out: in + out}", "'in + out' names 'out', which has the role out; a reference reads arrays with"),
    "a number among the arguments": ("{out: in + n}", "('n' is an argument: use the parameter that it passes)"),
    "a choice by Python's syntax": ("{out: in if size else 0}", "uses if; write where(condition, a, b); allowed: + -"),
    "conditions joined by a word": (
        """{out: "(in > 0) and (in < 2)"}""",
        "uses and, or; write & or | between comparisons",
    ),
    "axes one by one": ("{out: 'transpose(in, 1, 0)'}", "transpose with other arguments than it takes: too many"),
    "text as a number": ("""{out: "full('a', size)"}""", "the text 'a' is not a number; text is compared, as in"),
}

KERNELS = {
    **{f"keys: {k}": v for k, v in KEYS.items()},
    **{f"arguments: {k}": ({"arguments": text}, said) for k, (text, said) in ARGUMENTS.items()},
    **{f"grid: {k}": ({"grid": text}, said) for k, (text, said) in GRIDS.items()},
    **{f"reference: {k}": ({"reference": text}, said) for k, (text, said) in REFERENCES.items()},
}


@pytest.mark.parametrize("what", KERNELS)
def test_what_is_wrong_is_told_in_one_sentence(what, read):
    """The sentence names the file, the key, what stands there, and what is allowed."""
    keys, sentence = KERNELS[what]
    files = {"kernel/wanted.py": "def expected(): ...\n", "kernel/spoilt.py": "def expected(:\n"}

    def plan():
        kernel = read(files, **keys)
        if isinstance(kernel.reference, str):
            find(kernel)
        case_of(kernel)

    with pytest.raises(UsageError) as raised:
        plan()
    assert sentence.removeprefix("mine.yaml: reference ") in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_kernel_says_what_a_reader_needs(name):
    """A summary, an origin, a baseline of its family, and a source of 20 to 90 lines whose header explains it."""
    kernel = shipped(name)
    assert kernel.summary
    assert kernel.origin
    assert shipped(kernel.baseline).family == kernel.family
    text = kernel.source.read_text(encoding="utf-8")
    header = text.partition("#")[0]
    assert header.startswith(f"// {name}: ")
    assert all(f"// {part}" in header for part in ("New", "Macros", "Constraints"))
    assert 20 <= len(text.splitlines()) <= (170 if name == "matmulTile" else 90)  # half a million variants in one
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_every_example_of_the_page_runs(runner, tmp_path, device):
    """The files of the two pages, laid where they say, run by their commands; kernels that have one each, together."""
    page = "".join((ROOT / "docs" / f"kernel-{n}.md").read_text(encoding="utf-8") for n in ("examples", "yaml"))
    blocks = re.findall(r"^```\w+\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    for block in blocks:
        path = tmp_path / re.search(r"^(?:#|//) (my_kernels/\S+)$", block, re.MULTILINE)[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
    commands = [
        shlex.split(line) for line in re.findall(r"^    python -m runner (--config-dir .*)$", page, re.MULTILINE)
    ]
    assert (len(blocks), len(commands)) == (33, 12)
    first, six, tiled, *single, experiment, tiles, pairs = commands
    names = ",".join(command[-1].removeprefix("kernel=") for command in single)
    sweeps = [
        first,
        [*six, "size=40x100", "inner=50"],
        [*single[0][:-1], f"kernel={names}"],
        experiment,
        tiled,
        tiles,
        pairs,
    ]
    for n, command in enumerate(sweeps):
        done = runner(*command, f"device={device}", f"hydra.sweep.dir={n}")
        assert done.code == 0, done.out
    counts = {n: (tmp_path / str(n) / "results.csv").read_text(encoding="utf-8").count(",ok,") for n in range(7)}
    assert counts == {0: 2, 1: 6, 2: 6, 3: 4, 4: 4, 5: 4, 6: 4}
    kept = {p.name for p in (tmp_path / "3" / "sources").rglob("*") if p.is_file()}
    assert {"axpy.py", "saxpyVector.yaml", "saxpyVector.cu"} <= kept
    again = runner("--config-path", str(tmp_path / "3" / "sources" / "conf"), "kernel=saxpyVector", f"device={device}")
    assert again.code == 0, again.err  # its family and its reference were kept, too
