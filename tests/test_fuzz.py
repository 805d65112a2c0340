"""Malformed inputs of every kind: a sentence and a status, within 20 s and 1 GB, and nothing outside is touched.

What was found once stands in a corpus and is tried each time. `make fuzz` looks for more.
"""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import fuzzing as fz
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from processes import OWN, run
from support import ROOT

from runner.bounds.array_expression import ArrayExpression
from runner.compose.group_files import is_composed
from runner.compose.names import CONF
from runner.device.cpu.translate import rewrite
from runner.errors import UsageError
from runner.jobs.job import read_kernel
from runner.kernel.declaration import Kind, canonical
from runner.kernel.expression import Expression, RealExpression
from runner.kernel.resolve import make
from runner.kernel.yaml_reader import read_yaml

# ---- expressions

NUMBERS = [
    "0", "1", "-1", "2", "31", "128", "0.5", "1e308", "2**100", "2**63", "10**30", "True", "None", "'x'", "''", "1j", "...",
    "0x" + "f" * 5000, "9" * 5000, "nan", "()", "[]", "{}",
]  # fmt: skip
NAMES = ["size", "block", "dtype", "x", "y", "grid", "nope", "in", "__import__", "x.real"]
FUNCTIONS = sorted(
    {str(k) for table in (ArrayExpression.TABLE, RealExpression.TABLE) for k in table if isinstance(k, str)}
)
VARIABLES = {"size": 1000, "block": 64, "dtype": "float32", "grid": 16}
ARRAYS = {**VARIABLES, "x": np.linspace(-1, 1, 64, dtype=np.float32), "y": np.arange(64, dtype=np.int32).reshape(8, 8)}


def compound(part):
    """Larger expressions from smaller ones."""
    operators = "+ - * / // % ** @ << >> & | ^ and or == < in is".split()
    return st.one_of(
        st.tuples(part, st.sampled_from(operators), part).map(" ".join),
        st.tuples(st.sampled_from(FUNCTIONS), st.lists(part, max_size=3).map(", ".join)).map("{0[0]}({0[1]})".format),
        st.tuples(st.sampled_from(["-", "~", "not ", "+", "*"]), part).map("".join),
        st.tuples(part, part).map("{0[0]}[{0[1]}:]".format),
        part.map("({})".format), part.map("{}[0]".format), part.map("{} if 1 else 2".format), part.map("lambda: {}".format),
    )  # fmt: skip


def evaluate(text):
    """In each of the three languages."""

    def each():
        for kind, names in ((Expression, VARIABLES), (RealExpression, VARIABLES), (ArrayExpression, ARRAYS)):
            with contextlib.suppress(UsageError):
                kind(text, "fuzz")(names)

    fz.raises_only_our_errors(each)


EXPRESSIONS = [
    "-'x'", "isnan('x')", "einsum(1, x)", "x['a']", "x[...]", "sum('x')",
    "-" * 100_000 + "1", "(" * 100_000, "0x" + "f" * 50_000, "popcount('x')", "popcount(-1)", "1 and 'x'", "9**9**9",
    "1<<100000", "+".join(["1"] * 50_000), "x" * 100_000, "min()", "max(1)", "ceil_div(1, 0)", "sqrt(-1)", "exp(10**30)",
    "itemsize(1)", "2**128 * 1.5", "arange(2**62)", "arange(10**10)", "full(0, 2**40)", "x[2**100]", "sum(x, axis='x')",
    "not " * 50_000 + "1", "[" * 5000, "x[" * 3000, "min(" * 3000,
]  # fmt: skip


@fz.fuzzed(120, EXPRESSIONS)
@given(st.recursive(st.sampled_from([*NUMBERS, *NAMES]), compound, max_leaves=6))
def test_an_expression_gives_a_value_or_a_sentence(text):
    """Whatever is written for a grid, a constraint, a metric or a reference."""
    evaluate(text)


@fz.fuzzed(
    60,
    [*fz.TEXTS, "9" * 100_000, "0x" + "f" * 100_000, "1" + "0" * 10_000 + "x2", "1/" + "9" * 5000, "1e-" + "9" * 5000],
)
@given(fz.scalars())
def test_a_value_of_any_kind_is_read_or_told(value):
    """Whatever is written for a parameter."""

    def read():
        for kind in Kind:
            with contextlib.suppress(UsageError):
                assert isinstance(canonical("fuzz", kind, value), str | float | int)

    fz.raises_only_our_errors(read)


# ---- kernels' YAML

SHIPPED = sorted([*(CONF / "kernel").glob("*.yaml"), *(Path(OWN) / "kernel").glob("*.yaml")])


def understand(name, text):
    """Read a kernel's YAML as a sweep would, up to its default case."""
    with tempfile.TemporaryDirectory() as base:
        path = Path(base, "conf", "kernel", f"{name}.yaml")
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
        own = Path(OWN) / "kernel"
        for source in (*own.glob("*.cu*"), *own.glob("*.py")):
            (path.parent / source.name).symlink_to(source)
        Path(base, "kernels").symlink_to(ROOT / "kernels")

        def read():
            content = read_yaml(path)
            if isinstance(content, dict) and not is_composed(path, content):
                case = make(read_kernel(name, content, path, [path.parents[1], CONF]), {}, 0)
                assert case.excluded or max(map(abs, (*case.grid, case.shared))) < 2**63

        fz.raises_only_our_errors(read)


@st.composite
def spoilt_kernels(draw):
    """A shipped kernel's YAML with a few values changed, or a few of its bytes."""
    path = draw(st.sampled_from(SHIPPED))
    if draw(st.booleans()):
        return path.stem, draw(fz.edited(path.read_bytes()))
    content = draw(fz.mutated(yaml.safe_load(path.read_text(encoding="utf-8"))))
    try:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6)
    except RecursionError:
        text = "[" * 10_000
    return path.stem, text.encode("utf-8", "surrogatepass")


def saxpy(**lines):
    """The YAML of saxpy with some keys written otherwise."""
    path = Path(OWN) / "kernel" / "saxpy.yaml"
    content = {**yaml.safe_load(path.read_text(encoding="utf-8")), **lines}
    return "saxpy", yaml.safe_dump(content, sort_keys=False, width=10**7).encode()


KERNELS = [
    ("saxpy", fz.bomb()),
    ("saxpy", b"a: &a {k: 1}\n" + b"".join(b"a%d: &b%d {<<: [*a%s]}\n" % (i, i, b", *a" * 2000) for i in range(50))),
    ("saxpy", b"[" * 100_000),
    ("saxpy", b"a: " + b"x" * 10_000_000),
    ("saxpy", b"parameters: {block: 0x" + b"f" * 5000 + b"}\n"),
    ("saxpy", b"parameters: {block: 1" + b":2" * 5000 + b"}\n"),
    saxpy(parameters={f"p{i}": i for i in range(5000)}),
    saxpy(grid="popcount('x')"), saxpy(grid="popcount(-1)"), saxpy(grid="1 and 'x'"), saxpy(shared="2**100"),
    saxpy(grid="2**100"), saxpy(launches=[{"for": {"i": "2**60"}, "grid": 1}]), saxpy(launches=[{"for": {"i": "2**60", "j": 0}, "grid": 1}]),
    saxpy(bytes={"read": "2**100", "written": "2**120"}), saxpy(operations="2**100"), saxpy(shared="-(2**64)"),
    saxpy(reference={"y": "-" * 100_000 + "x"}), saxpy(reference={"y": None}), saxpy(reference=None), saxpy(reference="1j"),
    saxpy(parameters={"block": "2026-11-22", "size": 1000, "factor": 3}), saxpy(let={"a": "b", "b": "a"}),
    saxpy(family="x" * 300), saxpy(grid=fz.nested(100)), saxpy(macros=["X" * 100_000]), saxpy(depth="10**30"), saxpy(in_flight="2**100"),
    saxpy(let={f"k{i}": i for i in range(4000)}),
]  # fmt: skip


@fz.fuzzed(80, KERNELS)
@given(spoilt_kernels())
def test_a_kernels_yaml_is_understood_or_told(spoilt):
    """Whatever the YAML of a kernel holds."""
    understand(*spoilt)


# ---- command lines

LINES = [
    ["kernel=reduceShfl", "block=64,128", "size=1000", "device=cpu"],
    ["kernel=glob(reduceS*)", "width=8,16", "mask=0x00ff00ff"],
    ["kernel=transposeTile", "size=64x128", "tile_rows=32", "dtype=float32", "device=cpu"],
    ["experiment=shuffle_tour", "device=cpu", "--quiet"],
    ["experiment=hazards", "--json"],
    ["timing=quick", "timing.rounds=2", "device.threads=2", "device.time_limit_s=5", "seed=3"],
    ["-m", "kernel=warpScan", "block=range(32,129,32)", "record_host=true"],
    ["rank_by=gflops", "+metrics.twice={value: 2*median_us, unit: us, better: lower}", "fill=ones"],
    ["--config-dir", str(OWN), "kernel=saxpy", "factor=2", "hydra.sweep.dir=sweep"],
    ["--cfg", "job", "kernel=reduceShfl"],
    ["--info", "all"],
    ["hydra/launcher=gpus", "hydra.launcher.shards=2", "compiler=nvrtc"],
    ["hydra/launcher=slurm", "hydra.launcher.array_parallelism=4", "hydra.launcher.constraint=[a,b]", "block=64,128"],
    [
        "hydra/sweeper=search",
        "kernel=transposeTile",
        "block=64,128",
        "pad=range(0,9)",
        "hydra.sweeper.max_cases=20",
        "hydra.sweeper.batch=4",
        "device=cpu",
    ],
    ["kernel=reduceShfl", "zip={block:[64,128],width:[8,16]}", "dtype=int32,float32", "device=cpu"],
    [
        "kernel=reduceShfl",
        "profile=ncu",
        "profile.metrics=[default,smsp__inst_executed.sum]",
        "racecheck=all",
        "lines=all",
    ],
    [
        "kernel=reduceShfl",
        "device=checked",
        "device.schedules=2",
        "device.same_value_races=ignore",
        "device.l2_lines=clean",
    ],
]
OF_COMMANDS = [
    ["show", "reduceShfl"], ["list", "-n", "5"], ["list", "."], ["report", "latest"], ["report", "latest", "--format", "md"],
    ["compare", "latest~1", "latest"], ["resume", "latest"], ["repeat", "latest", "block=64"], ["import", "file.cu"],
    ["judge", "--kernel", "nope", "--baseline", "reduceSmem", "size=1Ki", "device=cpu", "--junit", "judge.xml"],
    ["judge", ".", "--baseline", "saxpy", "--config-dir", str(OWN), "--json"], ["history", "."], ["history", "--to", "page.html"],
    ["export", "latest", "--format", "csv"], ["export", "--format", "header", "latest", "--to", "tuned.h"],
    ["profile", "latest", "races", "lines"], ["show", "--schema"], ["show", "nope", "--json"], ["check", str(OWN)], ["check", "."],
]  # fmt: skip
KEYS = ["kernel", "block", "size", "hydra.launcher", "hydra", "hydra.job.chdir", "device", "on_cpu", "metrics", "hydra/hydra_logging",
        "hydra.verbose", "hydra.searchpath", "timing.cpu_samples", "+x", "~block", "a@b", "experiment", "hydra.sweeper.params"]  # fmt: skip
VALUES = ["range(1,10**9)", "range(1,1000000000)", "choice(1,2)", "glob(*)", "interval(1,2)", "sort(3,1)", "shuffle(1,2)",
          ",".join(map(str, range(300))), "[1,2]", "{a:1}", "reduceShfl,nope"]  # fmt: skip


@st.composite
def spoilt_lines(draw, lines):
    """A sound command line with a few words replaced, removed, repeated or put in."""
    words = list(draw(st.sampled_from(lines)))
    text = st.one_of(st.sampled_from([*fz.TEXTS, *VALUES]), st.text(max_size=8)).filter(lambda t: "\0" not in t)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(words) - 1))
        key, equals, value = words[at].partition("=")
        words[at : at + 1] = draw(st.sampled_from([
            [f"{key}={draw(text)}" if equals else draw(text)],
            [f"{draw(st.sampled_from(KEYS))}={draw(text)}", words[at]],
            [f"{draw(text)}={value}"],
            [f"{words[at]},{draw(text)}"],
            [words[at], words[at]],
            [draw(st.sampled_from(["--cfg", "--package", "-p", "--config-name", "--resolve", "-sc", "--help", "-x", "--"])), words[at]],
        ]))  # fmt: skip
    return [w.encode("utf-8", "replace").decode() for w in words]


COMMAND_LINES = [
    ["kernel=" + "a" * 5000], ["block=range(1,10**9)"],
    ["block=range(1,301)", "size=range(1,301)", "width=range(1,301)"],
    ["block=range(1,10001)", "size=range(1,10001)", "width=range(1,10001)"], ["block=" + ",".join(map(str, range(60_000 if fz.LONG_RUN else 6000)))],
    ["device.threads=2**40"], ["hydra/hydra_logging=nope"], ["size=popcount('x')"], ["size='popcount(\"x\")'"], ["hydra.callbacks={}"], ["~hydra.callbacks"],
    ["timing.rounds=10**100"], ["timing.rounds=1e400"], ["seed=" + "9" * 5000],
    ["hydra.sweeper.params={block: 'range(1,1000000000)'}"], ["device.time_limit_s=nan"], ["device.time_limit_s=1e400"],
    ["+a=" * 1000], ["[" * 5000], ["kernel=[" + "a," * 5000 + "]"], ["block=" + "(" * 3000], ["hydra.verbose=[1"],
]  # fmt: skip


@fz.fuzzed(10, COMMAND_LINES)
@given(spoilt_lines(LINES))
def test_a_command_line_is_planned_or_told(words):
    """Whatever is asked for: `--dry-run` shows a plan, or says in a sentence what is wrong."""
    with tempfile.TemporaryDirectory() as base:
        fz.withstands(base, "--dry-run", *words, statuses=(0, 2))


@fz.fuzzed(10)
@given(spoilt_lines(OF_COMMANDS))
def test_a_subcommand_works_or_tells(words):
    """Whatever is asked of the other commands, where there is no run."""
    with tempfile.TemporaryDirectory() as base:
        fz.withstands(base, *words, statuses=(0, 2))


# ---- sources

SOURCES = sorted([*(ROOT / "kernels").glob("*.cu"), *(Path(OWN) / "kernel").glob("*.cu")])
PIECES = ["{", "}", "(", ")", "[", "]", '"', "'", "/*", "*/", "//", "\\\n", '#include "x.cu"\n', "#define A A A\n", "template<",
          "__global__", "extern __shared__ int s[];", "asm volatile(", 'R"(', "\x00", "é", "<<<", ">>>", "__shared__ alignas("]  # fmt: skip


@fz.fuzzed(20, [b"__global__ void k(" + b"int a, " * 20_000 + b"int b) {}", b"{" * 200_000, b"(" * 200_000, b'#include "file.cu"\n',
             b"__global__ void k(" + b"(" * 5000, b"extern __shared__ " + b"(" * 20_000, b"/*" * 200_000, b"asm(" * 20_000,
             b"__global__ void k() {" + b"{" * 20_000])  # fmt: skip
@given(st.sampled_from(SOURCES).flatmap(lambda path: fz.edited(path.read_bytes(), PIECES)))
def test_a_source_is_imported_or_told(text):
    """Whatever a `.cu` holds, to write its YAML and to translate it for the CPU device."""
    fz.raises_only_our_errors(lambda: rewrite(text.decode(errors="replace")))
    with tempfile.TemporaryDirectory() as base:
        Path(base, "file.cu").write_bytes(text)
        fz.withstands(base, "import", "file.cu", statuses=(0, 2))


TOOLS = {
    name: (ROOT / "tests" / "kernels" / "importer" / name).read_bytes()
    for name in ("filters.cu", "t1.json", "tune.py.txt")
}
TUNED = [
    "range(10**9)",
    "[[i for i in range(9999)] for j in range(9999)]",
    "{",
    "]",
    "2**10**9",
    "'x' * 10**10",
    "lambda: 0",
    "é",
    "\0",
]


@fz.fuzzed(
    20,
    [("tune.py", b"x = " + b"-" * 200_000 + b"1"), ("t1.json", b"[" * 100_000), ("t1.json", b"{}"), ("tune.py", b"")],
)
@given(
    st.one_of(
        st.tuples(st.just("tune.py"), fz.edited(TOOLS["tune.py.txt"], TUNED)),
        st.tuples(st.just("t1.json"), fz.edited(TOOLS["t1.json"], TUNED)),
        st.tuples(st.just("t1.json"), fz.mutated(json.loads(TOOLS["t1.json"])).map(fz.as_json)),
    )
)
def test_a_file_of_another_tool_is_imported_or_told(spoilt):
    """Whatever a script for Kernel Tuner, or a T1 file, holds."""
    with tempfile.TemporaryDirectory() as base:
        name, content = spoilt
        Path(base, name).write_bytes(content)
        Path(base, "filters.cu").write_bytes(TOOLS["filters.cu"])
        fz.withstands(base, "import", name, statuses=(0, 2))


# ---- run folders

WORDS = "nan inf -1 1e999 \u0661 ok,ok ../../x =1+1".split()
CELLS = [*WORDS, "", '"', "\n", "\0", "9" * 5000, "x" * 10_000, fz.SCRIPT]


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    """Two small sweeps, one of which was interrupted: each has a case that fails."""
    base = tmp_path_factory.mktemp("sweeps")
    words = ("--config-dir", OWN, "kernel=saxpy,asserts,speaks", "block=32,64", "size=1000", "device=cpu")
    for name in ("complete", "interrupted"):
        done = run(base, *words, f"hydra.sweep.dir={name}")
        assert done.code == 1, done.err
    (base / "interrupted" / "1" / "result.json").unlink()
    return base


def files_of(folder):
    """Each kind of file of a run folder, and the folders."""
    jobs = [folder / n for n in ("0", "1", "2")]
    names = ["results.csv", "plan.json", "environment.json", "multirun.yaml", "verdict.json", "report.html", ".lock", "sources",
             "sources/conf", "sources/conf/config.yaml", "sources/conf/kernel/saxpy.yaml", "figures", "samples", "0"]  # fmt: skip
    found = [folder / n for n in names]
    found += [
        j / n
        for j in jobs[:2]
        for n in ("case.json", "result.json", ".hydra", ".hydra/config.yaml", ".hydra/hydra.yaml")
    ]
    found += (
        sorted(folder.rglob("saxpy.cu"))
        + sorted(folder.glob("samples/*.npy"))[:1]
        + sorted(folder.glob("figures/*"))[:1]
    )
    return [str(p.relative_to(folder)) for p in found]


COMMANDS = [
    ("list", "."), ("report", "run"), ("report", "run", "--format", "md"), ("report", "run", "--to", "page.html"),
    ("compare", "run", "sound"), ("compare", "sound", "run", "--html", "page.html"), ("resume", "run"), ("repeat", "run"),
    ("repeat", "run", "block=32"), ("history", "."), ("history", ".", "--to", "page.html"), ("export", "run", "--format", "csv"),
    ("export", "run", "--format", "json"), ("compare", "run", "sound", "--junit", "j.xml", "--sarif", "s.json"), ("profile", "run", "races"),
]  # fmt: skip
JSON = ("plan.json", "environment.json", "0/case.json", "1/case.json", "0/result.json", "2/result.json", "verdict.json")


def spoilt_table(draw, text):
    """results.csv with other cells, rows or columns."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(draw(st.integers(1, 4))):
        row = draw(st.integers(0, len(rows) - 1))
        cell = draw(st.integers(0, max(0, len(rows[row]) - 1)))
        new = draw(st.sampled_from(CELLS))
        how = draw(st.sampled_from(["cell", "cell", "row", "column", "longer"]))
        if how == "cell" and rows[row]:
            rows[row][cell] = new
        elif how == "row":
            rows.insert(row, list(rows[row]))
        elif how == "column":
            rows = [r[:cell] + r[cell + 1 :] for r in rows]
        else:
            rows[row] = rows[row] + [new] * draw(st.sampled_from([1, 3, 5000]))
    return "\n".join(",".join(r) for r in rows).encode("utf-8", "surrogatepass")


JOBS = ["\u0661", "007", "-1", "9" * 200, "1e3", "99999999999999999999", "0x1", "..."]


def damage(draw, run, outside, before):
    """Spoil one thing of a run's folder, unless that was damaged before; gives its first name below the folder."""
    how = draw(st.sampled_from(["instead", "instead", "JSON", "bytes", "table", "a job's folder"]))
    names = {"JSON": JSON, "table": ("results.csv",), "a job's folder": ("0",)}.get(how, files_of(run))
    path = run / draw(st.sampled_from(names))
    first = path.relative_to(run).parts[0]
    if first in before:
        return first
    if how == "instead":
        fz.replace(path, draw(st.sampled_from(sorted(fz.INSTEAD))), outside)
    elif how == "JSON" and path.is_file():
        path.write_bytes(fz.as_json(draw(fz.mutated(json.loads(path.read_text(encoding="utf-8"))))))
    elif how == "bytes" and path.is_file():
        path.write_bytes(draw(fz.edited(path.read_bytes())))
    elif how == "table":
        path.write_bytes(spoilt_table(draw, path.read_text(encoding="utf-8")))
    elif how == "a job's folder":
        shutil.copytree(run / "0", run / draw(st.sampled_from(JOBS)))
    return first


def read_by(sweeps, name, damaging, *commands):
    """Damage a copy of a run's folder, and read it by some commands; nothing beside it is touched."""
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        shutil.copytree(sweeps / name, base / "run")
        shutil.copytree(sweeps / "complete", base / "sound")
        outside = fz.Outside(base / "outside")
        damaging(base / "run", outside)
        report = base / "run" / "report.html"
        given = report.read_bytes() if report.is_file() and not report.is_symlink() else None
        for command, *words in commands:
            fz.withstands(base, command, *words)
            assert outside.is_untouched(), f"{command} {words} read or changed what lies outside"
        for page in (base / "page.html", report):
            if page.is_file() and not page.is_symlink() and page.stat().st_size < 10**7:
                written = page.read_bytes()
                is_new = written != given  # otherwise nobody wrote the page again after it was damaged
                assert not is_new or fz.SCRIPT.encode() not in written


@fz.fuzzed(30)
@given(st.data())
def test_a_run_folder_of_others_is_read_or_told(sweeps, data):
    """Whatever lies in it, and whichever command reads it."""
    name = data.draw(st.sampled_from(["complete", "interrupted"]))
    command = data.draw(st.sampled_from(COMMANDS))

    def spoil(run, outside):
        damaged = set()
        for _ in range(data.draw(st.integers(1, 2))):
            damaged.add(damage(data.draw, run, outside, damaged))

    read_by(sweeps, name, spoil, command)
