"""Compilers that would never end, kernels that attack the process they run in, terminals that close, caches that vanish."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pytest
import terminals
import yaml
from processes import OWN, PATIENCE_S, call, cold_cache, fresh, start, table, wait_until
from support import ROOT

from runner.device import Source
from runner.device.cpu.build import MAX_TRIES, CpuCompiler
from runner.device.limits import MESSAGE_BYTES, Limits
from runner.errors import CompileError, CompileLimit

KERNEL = 'extern "C" __global__ void k(int* out) { out[0] = %s; }\n'
EIGHTFOLD = "".join(f"#define A{n + 1} {f'A{n} ' * 8}\n" for n in range(12))
BOMB = f"#define A0 1+\n{EIGHTFOLD}{KERNEL % 'A12 1'}"
TEMPLATES = """template <int D, long N> struct F { static const int v = F<D - 1, 2 * N>::v + F<D - 1, 2 * N + 1>::v; };
template <long N> struct F<0, N> { static const int v = 1; };
"""
TEMPLATE_BOMB = TEMPLATES + KERNEL % "F<40, 0>::v"
BAD = {
    "a preprocessor bomb": (BOMB, Limits(1, 8), "still running after 1 s (device.compile_limit_s)"),
    "a bomb that takes memory": (BOMB, Limits(60, 0.2), "more than 0.2 GB of memory (device.compile_limit_gb)"),
    "a flood of warnings": ("#warning flood\n" * 60_000 + KERNEL % "nothing", Limits(1, 2), "device.compile_limit_s"),
    "a template bomb": (TEMPLATE_BOMB, Limits(1, 2), "device.compile_limit_s"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_compiler_that_would_not_end_is_ended(name, tmp_path, monkeypatch):
    """At a limit of time or memory one sentence says which, little output is kept, and no process or file is left."""
    text, limits, reason = BAD[name]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)  # so that it reads the variable again
    path = tmp_path / "k.cu"
    path.write_text(text)
    with pytest.raises(CompileLimit) as raised:
        CpuCompiler(limits=limits).compile(Source(path, text, "k"))
    assert reason in str(raised.value)
    assert str(path) in str(raised.value)
    assert len(raised.value.log) < 3 * MESSAGE_BYTES
    wait_until(lambda: not processes_about(tmp_path))
    assert not list(scratch.iterdir())


def processes_about(text):
    """Processes whose command line names it."""
    found = subprocess.run(["pgrep", "-f", "-r", "R,S,D", "--", str(text)], capture_output=True, text=True, check=False)
    return found.stdout.split()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_sweep_that_ends_leaves_no_compiler(sent, tmp_path):
    """The compiler is in a process group of its own, and yet ends with the program, however that ends."""
    (tmp_path / "own" / "kernel").mkdir(parents=True)
    shutil.copy(OWN / "kernel" / "speaks.yaml", tmp_path / "own" / "kernel")
    (tmp_path / "own" / "kernel" / "speaks.cu").write_text(BOMB.replace(" k(", " speaks("))
    process = start(tmp_path, "--config-dir", str(tmp_path / "own"), "kernel=speaks", "device=cpu")
    wait_until(lambda: len(processes_about(f"-iquote{tmp_path}/own")) > 1, process)
    assert process.poll() is None
    process.send_signal(sent)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (-sent if sent == signal.SIGKILL else 130), err
    assert "Traceback" not in err
    wait_until(lambda: not processes_about(f"-iquote{tmp_path}/own"))


def attacked(runner, attacks, *arguments):
    """The rows of the kernel `hostile`, by its attack, and what the command left."""
    given = ("--config-dir", str(OWN), "kernel=hostile", f"attack={','.join(map(str, attacks))}", "device=cpu")
    done = runner(*given, "device.time_limit_s=1", *arguments)
    return pd.read_csv(done.folder / "results.csv").set_index("attack"), done


def test_an_attack_on_the_worker_costs_its_own_row(runner):
    """Writing to all descriptors, flooding stderr, stopping itself, closing everything: the rows beside are right."""
    rows, done = attacked(runner, [0, 1, 2, 3, 4], "--json")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert list(rows["status"]) == ["ok", "crashed", "ok", "timeout", "crashed"]
    assert "a malformed message" in rows.loc[1, "reason"]
    assert len(done.err) < 2 << 20
    assert "printed 64 KiB" in done.err
    assert all(line.startswith("{") for line in done.out.splitlines())


def no_sandbox():
    """Why there is no sandbox here; empty if there is one."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.skipif(bool(no_sandbox()), reason=no_sandbox())
def test_a_sandbox_lets_nothing_out(runner, tmp_path):
    """Files, the network and other processes, which a kernel reaches without a sandbox, it does not reach in one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = f"port={server.getsockname()[1]}", f"parent={os.getpid()}"
        rows, done = attacked(runner, [5], *here)
        assert "out[70] is 78, expected 71" in rows.loc[5, "reason"]
        assert (tmp_path / "escaped-the-sandbox").exists()
        (tmp_path / "escaped-the-sandbox").unlink()
        shutil.rmtree(done.folder)
        rows, _ = attacked(runner, [1, 2, 5], "device.sandbox=true", *here)
    assert list(rows["status"]) == ["crashed", "ok", "ok"]
    assert not (tmp_path / "escaped-the-sandbox").exists()


def test_without_bubblewrap_a_sandbox_is_refused(runner, tmp_path):
    """One sentence and status 2, and no kernel is run."""
    tools = tmp_path / "bin"
    tools.mkdir()
    compiler = tools / "c++"  # it has a version, and is not needed
    compiler.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec {shutil.which("c++")} --version\nexit 1\n')
    compiler.chmod(0o700)
    (tools / "sh").symlink_to(shutil.which("sh"))
    done = runner("size=1000", "device=cpu", "device.sandbox=true", PATH=str(tools))
    assert done.code == 2
    assert "device.sandbox=true: bubblewrap is not installed" in done.err
    assert not list(tmp_path.glob("outputs/*/*"))


def test_a_terminal_that_closes_ends_a_sweep(tmp_path):
    """The finished rows, the report and `not_run` rows are there, as after Ctrl-C."""
    words = ("block=64,128,256,512", "size=256Ki", "device=cpu", "timing.cpu_samples=20", "hydra.sweep.dir=sweep")
    terminal = terminals.runner(tmp_path, *words, columns=80)
    terminal.read(lambda _: any((tmp_path / "sweep").glob("*/result.json")))
    assert terminal.close() == 130
    assert {"ok", "not_run"} == set(table(tmp_path / "sweep")["status"])
    assert (tmp_path / "sweep" / "report.html").is_file()


def catches(process, number):
    """Whether a process has a handler of its own for a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    (mask,) = (int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt"))
    return mask >> number - 1 & 1


@pytest.mark.parametrize("after_s", [0.0, 0.2, 0.6])
def test_ctrl_c_during_the_imports_is_one_line(after_s, tmp_path):
    """From the moment on that the program listens: status 130, one line, no traceback, no folder of results."""
    process = fresh(tmp_path, "size=1000", "device=cpu")
    wait_until(lambda: catches(process, signal.SIGHUP), process)
    time.sleep(after_s)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (130, -signal.SIGINT), err  # a shell says 130 for both
    assert "Traceback" not in err
    assert err.startswith("runner: interrupted") or "python -m runner resume" in err
    assert not out or list(tmp_path.glob("outputs/*/*/report.html"))


NO_REPORT = """
import os, signal, sys
from runner import report
from runner.__main__ import main
report.publish = lambda *a, **k: os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["runner", "size=1000", "device=cpu", "hydra.sweep.dir=sweep", "lines=false", "racecheck=none"]
sys.exit(main())
"""


def test_an_interrupted_report_says_how_to_get_it(tmp_path):
    """All rows are there, the status is 130, and the command that makes the report stands on the terminal."""
    (tmp_path / "no_report.py").write_text(NO_REPORT)
    done = call(tmp_path, module="no_report")
    assert done.returncode == 130, done.stderr
    assert "python -m runner report sweep" in done.stderr
    assert list(table(tmp_path / "sweep")["status"]) == ["ok"]
    assert call(tmp_path, "sweep", module="runner.report").returncode == 0


def test_a_cache_that_is_damaged_or_deleted_is_filled_again(tmp_path):
    """Kernels and the CPU device's own library are compiled again, and every row is right.

    Binaries that were overwritten are noticed, and so is a cache that vanishes during a sweep.
    """
    cold, cache = cold_cache(tmp_path), tmp_path / "cache"
    arguments = ("block=64,128", "size=64Ki", "device=cpu", "timing.cpu_rounds=2", "timing.fresh_process=true")
    done = call(tmp_path, *arguments, "hydra.sweep.dir=first", **cold)
    assert done.returncode == 0, done.stderr
    damaged = list(cache.rglob("*.so"))
    (library,) = (path for path in damaged if path.name.startswith("libsimt-"))
    for path in damaged:
        path.write_bytes(b"garbage")
    process = start(tmp_path, *arguments, "hydra.sweep.dir=sweep", **cold)
    wait_until(lambda: library.exists() and library.stat().st_size > len(b"garbage"), process)
    shutil.rmtree(cache, ignore_errors=True)  # while it compiles
    wait_until(lambda: any((tmp_path / "sweep").glob("*/result.json")), process)
    shutil.rmtree(cache, ignore_errors=True)  # while it measures
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    rows = table(tmp_path / "sweep")
    assert list(rows["status"]) == ["ok", "ok"]
    assert list(rows["rounds"]) == [2, 2]


def test_a_cache_that_is_deleted_again_and_again_is_told(monkeypatch):
    """After some attempts the kernel has a sentence for a reason, not the path of the cache."""
    calls = []

    def deleted(*arguments, **keywords):
        calls.append(arguments)
        raise FileNotFoundError("/a/cache")

    monkeypatch.setattr(CpuCompiler, "_runtime", deleted)
    with pytest.raises(CompileError, match=r"saxpy\.cu: the cache of compiled kernels was deleted again and again"):
        CpuCompiler().compile(Source(OWN / "kernel" / "saxpy.cu", "", "saxpy"))
    assert len(calls) == MAX_TRIES


REFERENCES = {  # each is one sentence, whatever it would take
    "a huge array": ("pad(x, 10**9)", {}, "'pad(x, 10**9)' cannot be evaluated: Unable to allocate"),
    "a product of all elements": (
        "sum(einsum('i,j,k->ijk', x, x, x), axis=(1, 2))", {}, "cannot be evaluated: Unable to allocate 8.00 GiB"
    ),
    "an index between two elements": ("0 * x + x[0.5]", {}, "an amount is an integer, not '0.5'"),
    "definitions that double": (
        "a39", {f"a{n + 1}": f"(a{n} + a{n}) / 2" for n in range(39)} | {"a0": "x"}, "elements differ"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFERENCES)
def test_a_reference_that_would_take_all_memory_or_time_is_one_sentence(what, runner, tmp_path):
    """Expressions are data of a stranger's YAML; a wrong kernel takes no longer than a right one."""
    reference, let, sentence = REFERENCES[what]
    (tmp_path / "own" / "kernel").mkdir(parents=True)
    (tmp_path / "own" / "kernel" / "k.cu").write_text(
        "__global__ void k(const float* x, float* y) { y[threadIdx.x + blockIdx.x * 64] = 2; }\n"
    )
    (tmp_path / "own" / "kernel" / "k.yaml").write_text(yaml.safe_dump({
        "parameters": {"block": {"default": 64, "allowed": [64]}, "size": 1024},
        "arguments": [{"name": "x", "role": "in", "dtype": "float32", "shape": "size", "fill": "random"},
                      {"name": "y", "role": "out", "dtype": "float32", "shape": "size"}],
        "grid": "size // 64", "constraints": {"size % 64 == 0": "whole blocks"},
        "let": let, "reference": {"y": reference},
    }))  # fmt: skip
    done = runner("--config-dir", tmp_path / "own", "kernel=k", "device=cpu", cpu_s=60)
    assert (done.code, "Traceback" in done.err) == (1, False), done.err
    assert sentence in done.out


PARSES = """
from concurrent.futures import ThreadPoolExecutor
from runner.device import syntax
from runner.errors import UsageError

syntax.MOST_S = 0.3

def told(number):
    unit = "1,2 // %d\\n" if number % 2 else "__global__ void k%d(int* o) { o[0] = 1; }\\n"
    try:
        return len(syntax.parse("".join(unit % n for n in range(number, 3000 if number % 2 == 0 else 300_000))).kernels)
    except UsageError as e:
        return "takes too long" in str(e)

with ThreadPoolExecutor(8) as pool:
    print(list(pool.map(told, range(8))))
"""


def test_large_texts_are_parsed_in_several_threads():
    """Sources are compiled side by side, and two of them may be large."""
    done = subprocess.run([sys.executable, "-c", PARSES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[3000, True, 2998, True, 2996, True, 2994, True]\n"
