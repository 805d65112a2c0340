"""Attacks on the runner by what others wrote: the table of docs/attacks.txt.

    python benchmarks/attacks.py [--only WORD] [--out docs/attacks.txt]

Each attack is a folder of files and a command. It is held if the command ends within its time with one sentence or the
right result, if no line of the stranger's code ran where the command only looks, if no file outside the run folder
changed, and if nothing of a file elsewhere is in it. A line of the table is a class of attacks. Exit status 1 if one is
not held.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from sweeps import ROOT

LIMIT_S = 5.0  # for a command that only reads
RUN_S = 30.0  # for one that compiles and launches
MEMORY = 6 << 30  # bytes of addresses that a process may take; the stacks of kernels have 1 GiB for each thread
ELSEWHERE = "a line that nobody but its owner may read"
KERNEL = {
    "parameters": {"size": 100, "block": 64},
    "grid": "ceil_div(size, block)",
    "arguments": [
        {"name": "in", "role": "in", "dtype": "float32", "shape": "size", "fill": "random"},
        {"name": "out", "role": "out", "dtype": "float32", "shape": "size"},
        {"name": "n", "scalar": "int32", "value": "size"},
    ],
    "reference": {"out": "in"},
}
SOURCE = """extern "C" __global__ void mine(const float* in, float* out, int n)
{ const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i]; }
"""
MINE = ("--config-dir", "theirs", "kernel=mine", "device=cpu", "timing=quick", "racecheck=none", "lines=none")
CODE = "open('ran', 'w').close()\n"  # a file in the working folder says that it ran


@dataclass(frozen=True)
class Attack:
    """Files of a stranger, a command, and what must not happen."""

    kind: str  # its class, a line of the table
    words: tuple[str, ...]  # the command behind `python -m runner`
    files: dict[str, str] = field(default_factory=dict)  # by their paths in the working folder
    yaml: dict[str, object] | None = None  # keys that replace those of the kernel
    source: str = SOURCE
    prepare: Callable[[Path], None] | None = None
    limit_s: float = LIMIT_S
    codes: tuple[int, ...] = (0, 1, 2)


def attacks() -> Iterator[Attack]:
    """Every attack."""
    beside = {"theirs/kernel/beside.py": f"{CODE}def expected(*_): ...\n"}
    evil: dict[str, object] = {"reference": "beside.expected"}
    kind, folder = "looking at a stranger's folder runs none of its code", ("--config-dir", "theirs")
    for words in (
        ("--help", *folder), ("show", *folder), ("show", "mine", *folder), ("show", "--schema", *folder),
        (*MINE, "--dry-run"), (*MINE, "--cfg", "job"), (*MINE, "--info"), (*MINE, "--dry-run", "block=32,64"),
    ):  # fmt: skip
        yield Attack(kind, words, beside, evil)
    yield Attack(kind, (*MINE, "block=2048"), beside, evil, limit_s=RUN_S)  # whose cases are all skipped
    yield from _experiments()
    yield from _includes()
    yield from _limits()
    yield from _imports()
    yield from _mistakes()
    yield from _repositories()
    yield from _results()
    yield from _references()
    yield from _kernels()
    yield from _terminals()
    yield from _runs()


def _experiments() -> Iterator[Attack]:
    kind = "a _target_, () or class in an experiment or a group is refused"
    texts = (
        "hydra: {callbacks: {x: {_target_: pathlib.Path.touch, self: ran}}}",
        "hydra: {callbacks: {x: {_target_: io.open, file: ran, mode: w}}}",
        "hydra: {sweeper: {_target_: io.open, file: ran, mode: w}}",
        "hydra: {launcher: {_target_: logging.FileHandler, filename: ran}}",
        "hydra: {hydra_logging: {handlers: {f: {'()': io.open, file: ran, mode: w}}}}",
        "hydra: {job_logging: {handlers: {f: {class: logging.FileHandler, filename: ran}}}}",
        "hydra: {job: {_target_: os.mkdir, path: ran}}",
        "device: {_target_: os.mkdir, path: ran}", "timing: {_target_: os.mkdir, path: ran}",
        "profile: {_target_: os.mkdir, path: ran}", "search: {_target_: os.mkdir, path: ran}",
        "metrics: {x: {_target_: os.mkdir, path: ran}}", "defaults: [{/hydra/callbacks: evil}]",
        "defaults: [override /hydra/callbacks: evil]",
    )  # fmt: skip
    evil = {"theirs/hydra/callbacks/evil.yaml": "x: {_target_: io.open, file: ran, mode: w}\n"}
    for text in texts:
        files = {"theirs/experiment/bad.yaml": f"# @package _global_\n{text}\n", **evil}
        for dry in ((), ("--dry-run",)):
            yield Attack(kind, (*MINE, "experiment=bad", *dry), files, limit_s=RUN_S)


def _includes() -> Iterator[Attack]:
    kind = "an #include of a file elsewhere, a FIFO or a device is not kept, nor waited for"

    def fifo(place: Path) -> None:
        os.mkfifo(place / "theirs" / "kernel" / "pipe.h")
        (place / "theirs" / "kernel" / "link.h").symlink_to(place / "secret")

    for name in ("../../secret", "{}/secret", "link.h", "/etc/hostname", "pipe.h", "/dev/zero", "/proc/self/environ"):
        text = f'#if 0\n#include "{name}"\n#endif\n{SOURCE}'
        yield Attack(kind, (*MINE, "hydra.sweep.dir=out"), source=text, prepare=fifo, limit_s=RUN_S)
        text = f'#include "{name}"\n{SOURCE}'
        yield Attack(kind, (*MINE, "hydra.sweep.dir=out"), source=text, prepare=fifo, limit_s=RUN_S)
    yield Attack(kind, (*MINE, "--dry-run"), source=f'#include "absent.h"\n{SOURCE}')


def _limits() -> Iterator[Attack]:
    kind = "what grows without end is refused"
    arguments: Any = KERNEL["arguments"]
    for fill in ("1e999999999", ["1e999999999"], {"range": [0, "10**10**8"]}, "9**9**9", ["0"] * 300_000):
        first = {**arguments[0], "fill": fill}
        yield Attack(kind, (*MINE, "--dry-run"), yaml={"arguments": [first, *arguments[1:]]})
    structs = {"S0": {"a": "float32"}, **{f"S{n}": {"a": f"S{n - 1}", "b": f"S{n - 1}"} for n in range(1, 26)}}
    yield Attack(kind, (*MINE, "--dry-run"), yaml={"structs": structs})
    for parameters in (
        {"size": 100, "block": {"default": 64, "allowed": [64] * 20_000}},
        {f"p{n}": 1 for n in range(9000)},
    ):
        yield Attack(kind, (*MINE, "--dry-run"), yaml={"parameters": parameters})
    for text in ("(" * 5000 + "1" + ")" * 5000, "in" + " + in" * 20_000, "2**" * 300 + "2", "in[" * 500):
        yield Attack(kind, (*MINE, "--dry-run"), yaml={"reference": {"out": text}})
    for override in (
        "block=range(1,10**9)",
        "size=" + "9" * 5000,
        "seed=1e400",
        "timing.rounds=10**100",
        "block=" + "[" * 3000,
    ):
        yield Attack(kind, (*MINE, override, "--dry-run"))


def _imports() -> Iterator[Attack]:
    kind = "a file to import that is deep, long or endless ends with a YAML or a sentence"
    files = {
        "deep.json": "[" * 200_000, "long.json": json.dumps({"General": {"BenchmarkName": "x" * 10_000_000}}),
        "range.py": "from kernel_tuner import tune_kernel\ntune_kernel('k', 'k.cu', list(range(10**9)), [], {})\n",
        "deep.py": "x = " + "(" * 5000 + ")" * 5000, "stars.cu": "__global__ void k(float " + "*" * 20_000 + "p) {}",
        "brackets.cu": "__global__ void k(float* p) { p[0] = " + "(" * 20_000 + "1" + ")" * 20_000 + "; }",
        "many.cu": "".join(f"__global__ void k{n}(float* p) {{ p[threadIdx.x] = {n}; }}\n" for n in range(300)),
    }  # fmt: skip
    for name, text in files.items():
        yield Attack(kind, ("import", name), {name: text}, limit_s=RUN_S)
    lines = "1,2\n" * 1_000_000
    yield Attack(kind, ("import", "lines.cu"), {"lines.cu": lines}, limit_s=RUN_S)
    yield Attack(kind, MINE, source=lines, limit_s=RUN_S)
    yield Attack(kind, ("import", "pipe.cu"), prepare=lambda place: os.mkfifo(place / "pipe.cu"))


def _repositories() -> Iterator[Attack]:
    kind = "what a stranger's git repository configures does not run"

    def repository(key: str) -> Callable[[Path], None]:
        def prepare(place: Path) -> None:
            folder, evil = place / "theirs", place / "evil.sh"
            evil.write_text(f"#!/bin/sh\ntouch {place}/ran\ncat\n", encoding="utf-8")
            evil.chmod(0o755)
            (folder / ".gitattributes").write_text("* filter=x\n", encoding="utf-8")
            git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b")
            for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "theirs"), ("config", key, str(evil))):
                subprocess.run([*git, *words], check=True)
            (folder / "kernel" / "mine.cu").write_text(SOURCE + "\n", encoding="utf-8")

        return prepare

    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.external", "core.hooksPath"):
        yield Attack(kind, MINE, prepare=repository(key), limit_s=RUN_S)
        yield Attack(kind, (*MINE, "block=2048"), prepare=repository(key), limit_s=RUN_S)


def _results() -> Iterator[Attack]:
    kind = "a file named for a result replaces no device, pipe, folder or file of a run"

    def run(place: Path) -> None:
        finished(place)
        shutil.copytree(place / "out", place / "other")
        os.mkfifo(place / "pipe")
        (place / "circle").symlink_to("circle")
        (place / "linked").symlink_to("theirs")

    for target in ("pipe", "circle", "linked", "theirs", "out/results.csv", "out/.lock", "x" * 300):
        for words in (
            ("report", "out", "--to"),
            ("compare", "out", "other", "--csv"),
            ("judge", "out", "--baseline", "mine", "--sarif"),
        ):
            yield Attack(kind, (*words, target), prepare=run, codes=(2,))


def _references() -> Iterator[Attack]:
    """What an outside set found: expressions that take all memory, or double with each definition."""
    kind = "a reference that takes all memory or time ends its case"
    for text in ("pad(in, 10**9)", "einsum('i,j,k,l,m->ijklm', in, in, in, in, in)", "full(in[0], 10**11)"):
        yield Attack(kind, MINE, yaml={"reference": {"out": text}}, limit_s=RUN_S)
    doubling = {"a0": "in", **{f"a{n}": f"a{n - 1} + a{n - 1}" for n in range(1, 60)}}
    yield Attack(kind, MINE, yaml={"let": doubling, "reference": {"out": "a59"}}, limit_s=RUN_S)
    endless = "import itertools\ndef expected(*_, **__):\n    return list(itertools.count())\n"
    beside = {"theirs/kernel/beside.py": endless}
    evil: dict[str, object] = {"reference": "beside.expected"}
    yield Attack(kind, (*MINE, "device.time_limit_s=5"), beside, evil, limit_s=2 * RUN_S)
    kind = "a reference leaves what others use as it was"
    rude = (
        "import os, sys, warnings\nimport numpy as np\ndef expected(inputs, parameters, grid):\n"
        "    result = inputs['in'].copy()\n    inputs.clear()\n    warnings.simplefilter('error')\n"
        "    np.seterr(all='raise')\n    sys.stdout.close()\n"
        "    os.chdir('/')\n    os.environ.clear()\n    return {'out': result}\n"
    )
    beside = {"theirs/kernel/beside.py": rude}
    yield Attack(kind, (*MINE, "block=32,64,128"), beside, evil, limit_s=RUN_S, codes=(0,))


def _kernels() -> Iterator[Attack]:
    kind = "a kernel that is never done, takes all memory or writes elsewhere costs its own row"
    bodies = (
        "for (;;) ;", "for (;;) { char* volatile p = (char*)malloc(1 << 20); if (p) p[4096] = 1; }",
        "for (;;) free(malloc(64));", 'for (;;) printf("%d\\n", i);', "free(out);", "delete[] out; delete[] out;",
        "for (long k = 0;; k += 4096) out[k] = 1;", "for (long k = 0;; k -= 4096) out[k] = 1;", "((void (*)())out)();",
        "const_cast<float*>(in)[i] = 1;", "*(volatile int*)0 = 1;", "char big[1 << 20]; ((volatile char*)big)[i] = 1;",
    )  # fmt: skip
    for body in bodies:
        text = SOURCE.replace("if (i < n)", f"{body} if (i < n)")
        words = (*MINE, "device.time_limit_s=2", "hydra.sweep.dir=out")
        yield Attack(kind, words, source=text, limit_s=RUN_S, codes=(0, 1))


def _terminals() -> Iterator[Attack]:
    kind = "control characters of a stranger do not reach the terminal"
    escape = "\x1b]0;title\x07\x1b[2J"
    for keys in (
        {"summary": f"x{escape}"}, {"grid": f"size{escape}"}, {f"key{escape}": 1}, {"family": f"x{escape}"},
    ):  # fmt: skip
        for words in (("show", "mine", "--config-dir", "theirs"), ("--help", "--config-dir", "theirs"),
                      (*MINE, "--dry-run"), ("check", "theirs")):  # fmt: skip
            yield Attack(kind, words, yaml=dict(keys))
    for line in (f'#error "{escape}"', SOURCE.replace("= in[i];", f"= in[i] oops{escape};")):
        yield Attack(kind, MINE, source=line, limit_s=RUN_S, codes=(1,))


def _runs() -> Iterator[Attack]:
    kind = "a damaged run folder is told in a sentence, or mended"

    def damaged(file: str, change: Callable[[Any], object]) -> Callable[[Path], None]:
        def prepare(place: Path) -> None:
            finished(place)
            path = place / "out" / file
            path.write_text(json.dumps(change(json.loads(path.read_text("utf-8")))), "utf-8")

        return prepare

    def replaced(value: object) -> Callable[[Any], object]:
        """Each key in turn would be many: all of the file's."""
        return lambda content: dict.fromkeys(content, value) if isinstance(content, dict) else value

    for file in ("0/case.json", "plan.json", "environment.json", "0/result.json"):
        for value in (None, "", {"a": [1]}, 1e308):
            for words in (("report", "out"), ("list", "."), ("resume", "out")):
                yield Attack(kind, words, prepare=damaged(file, replaced(value)), limit_s=RUN_S)


def _mistakes() -> Iterator[Attack]:
    kind = "a misspelt key, or a name that is a path, is refused in a sentence"
    for words in (
        ("+hydra.sweeper.max_case=1",), ("hydra/sweeper=search", "hydra.sweeper.max_case=1"), ("blok=64",),
        ("+hydra.launcher.x=1",), ("device.thread=2",), ("timing.round=2",), ("baseline=../../x",),
    ):  # fmt: skip
        yield Attack(kind, (*MINE, *words, "--dry-run"), codes=(2,))
    for keys in (
        {"family": "../../x"}, {"include": "a\0b"}, {"include": ["/"]}, {"source": "/etc/passwd"},
        {"source": "../../secret"},
        {"launches": [{"function": "mine", "arguments": ["in"]}]}, {"function": "x" * 100_000}, {"baseline": "../../x"},
    ):  # fmt: skip
        yield Attack(kind, (*MINE, "--dry-run"), yaml=dict(keys))
    yield Attack(kind, ("export", "outputs/none", "--to", "x.txt"), codes=(2,))
    yield Attack(kind, ("judge", "--kernel", "mine", "--baseline", "../../x", "--config-dir", "theirs"), codes=(2,))
    yield Attack(kind, ("judge", "theirs", "--baseline", "../../x"), codes=(2,))


def finished(place: Path) -> None:
    """Put the folder `out` of a finished run into the working folder; it is swept once."""
    shutil.copytree(_run(), place / "out")


@functools.cache
def _run() -> Path:
    base = Path(tempfile.mkdtemp(prefix="attacks-"))
    atexit.register(shutil.rmtree, base)
    kernel = base / "theirs" / "kernel"
    kernel.mkdir(parents=True)
    (kernel / "mine.cu").write_text(SOURCE, encoding="utf-8")
    (kernel / "mine.yaml").write_text(yaml.safe_dump(KERNEL), encoding="utf-8")
    command = [sys.executable, "-m", "runner", *MINE, "hydra.sweep.dir=out"]
    subprocess.run(command, cwd=base, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    return base / "out"


def tried(attack: Attack) -> tuple[str, float, int]:
    """What was not held (empty if all was), the seconds, and the largest process in MB."""
    with tempfile.TemporaryDirectory() as name:
        place, home = Path(name) / "work", Path(name) / "home"
        home.mkdir()
        kernel = place / "theirs" / "kernel"
        kernel.mkdir(parents=True)
        (place / "secret").write_text(ELSEWHERE, encoding="utf-8")
        (kernel / "mine.cu").write_text(attack.source.replace("{}", str(place)), encoding="utf-8")
        (kernel / "mine.yaml").write_text(yaml.safe_dump({**KERNEL, **(attack.yaml or {})}), encoding="utf-8")
        for path, text in attack.files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8")
        if attack.prepare:
            attack.prepare(place)
        before = {p: _kind(p) for p in place.rglob("*") if "outputs" not in p.parts}
        started = time.monotonic()
        environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [sys.executable, "-m", "runner", *attack.words], cwd=place, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),  # noqa: PLW1509  (no threads)
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=2 * attack.limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return f"did not end in {2 * attack.limit_s:.0f} s", 2 * attack.limit_s, 0
        seconds = time.monotonic() - started
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000
        return _fault(attack, place, before, process.returncode, out + err, seconds), seconds, peak


def _kind(path: Path) -> tuple[int, bytes]:
    """What a path is: a file, a folder, a link, a pipe; and of a table its content."""
    return stat.S_IFMT(path.lstat().st_mode), path.read_bytes() if path.name == "results.csv" else b""


def _fault(
    attack: Attack, place: Path, before: dict[Path, tuple[int, bytes]], code: int, said: str, seconds: float
) -> str:
    new = {p for p in place.rglob("*") if "outputs" not in p.parts and "out" not in p.parts[-8:]} - before.keys()
    own = {place / "my_kernels", place / "theirs" / "kernel" / "__pycache__"}
    if "Traceback" in said:
        return "traceback"
    if "\x1b" in said or "\x07" in said:
        return "control characters"
    if (place / "ran").exists():
        return "code ran"
    if code not in attack.codes:
        return f"exit status {code}"
    if attack.codes == (2,) and (changed := [p for p, kind in before.items() if _kind(p) != kind]):
        return f"replaced {changed[0]}"
    if left := [p for p in new if not any(p.is_relative_to(o) for o in own)]:
        return f"wrote {left[0]}"
    kept = (p for p in (place / "out").rglob("*") if p.is_file() and not p.is_symlink())
    if any(ELSEWHERE.encode() in p.read_bytes() for p in kept):
        return "kept a secret"
    return f"took {seconds:.1f} s" if seconds > attack.limit_s else ""


def main() -> None:
    """Try all attacks, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD", help="only attacks of classes with this word")
    parser.add_argument("--out", type=Path, help="the table to write")
    given = parser.parse_args()
    classes: dict[str, list[tuple[str, float, int]]] = defaultdict(list)
    for attack in attacks():
        if given.only in attack.kind:
            found = tried(attack)
            classes[attack.kind].append(found)
            if found[0]:
                print(f"NOT HELD: {found[0]}: {' '.join(attack.words)[:120]} {str(attack.yaml)[:120]}", flush=True)
    width = max(map(len, classes), default=0)
    lines = [f"{'attack':{width}}  tried  held  slowest s"]
    for kind, results in classes.items():
        held, slowest = sum(not fault for fault, _, _ in results), max(seconds for _, seconds, _ in results)
        lines.append(f"{kind:{width}}  {len(results):5}  {held:4}  {slowest:9.1f}")
    text = "\n".join([" ".join(["python benchmarks/attacks.py", *sys.argv[1:]]), *lines, ""])
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    raise SystemExit(any(fault for results in classes.values() for fault, _, _ in results))


if __name__ == "__main__":
    main()
