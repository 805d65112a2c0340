"""Starting the program: forked from a process that has done its imports, or for real; and watching what it leaves."""

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
from support import ROOT, Finished

from runner.cli import split

OWN = Path(__file__).parent / "kernels"
PATIENCE_S = 280  # a busy machine is slow; pytest's own limit is 600 s
AT_START = ("PYTHON", "LC_", "LANG", "LD_")  # Python reads such variables once, when it starts


def environment(**further):
    """Of a process that finds the package, wherever it is started."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **further}


def quick(arguments):
    """A command line of `runner`; a sweep's gets `lines=false racecheck=none`, unless it says something about them.

    Both compile each kernel once more, which most tests do not need.
    """
    words = list(map(str, arguments))
    if split(words)[0] != "sweep":
        return words
    settings = ("lines=false", "racecheck=none")
    return words + [s for s in settings if not any(word.startswith(s.partition("=")[0] + "=") for word in words)]


class Program(subprocess.Popen):
    """`python -m MODULE ...`, in a process group of its own: a fork of the zygote, whose guard tells when it has ended."""

    def __init__(self, request, **options):
        self._request, (self._guard, self._theirs) = request, socket.socketpair()
        super().__init__(["program"], **options)

    def _execute_child(self, *given):
        *ends, _restore, _gid, _gids, _uid, _umask, _session, _group = given
        _, _, _, out, _, err = pipes = ends[-6:]
        with self._theirs:
            _zygote().ask([out, err, self._theirs.fileno()])
        self._guard.sendall(json.dumps(self._request).encode() + b"\n")
        self.pid = self._told()
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _internal_poll(self, **_):
        if self.returncode is None and select.select([self._guard], [], [], 0)[0]:
            self._end()
        return self.returncode

    def _wait(self, timeout):
        if self.returncode is None and not select.select([self._guard], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout)
        if self.returncode is None:
            self._end()
        return self.returncode

    def _end(self):
        self.returncode = self._told()
        self._guard.close()

    def _told(self):
        """A number from the guard, and nothing behind it: `select` would not see what was read ahead."""
        return int(b"".join(iter(lambda: self._guard.recv(1), b"\n")))


class Zygote:
    """The process that forks: one for each of pytest's, started by the first test that needs it."""

    def __init__(self):
        self._requests, theirs = socket.socketpair()
        command = [sys.executable, str(Path(__file__).parent / "zygote.py")]
        with theirs:
            self._process = subprocess.Popen(command, stdin=theirs, env=environment())
        atexit.register(self.end)

    def ask(self, descriptors):
        """For a guard: the program's standard output and error, and a socket to talk with the guard."""
        socket.send_fds(self._requests, [b"."], descriptors)

    def end(self):
        """Wait until it has ended."""
        self._requests.close()
        self._process.wait()


_zygote = functools.cache(Zygote)


def requested(directory, arguments, module, variables, *, timeout=0, cpu_s=0, defaults=False):
    """What the zygote is asked for: a program with these environment variables."""
    words = quick(arguments) if module == "runner" and not defaults else list(map(str, arguments))
    return {
        "directory": str(directory), "arguments": words, "environment": variables,
        "module": module.removesuffix(".__main__"), "timeout": timeout, "cpu_s": cpu_s,
    }  # fmt: skip


def fresh(directory, *arguments, module="runner", **further):
    """`python -m runner ...` in a new interpreter, in a process group of its own."""
    words = quick(arguments) if module == "runner" else map(str, arguments)
    return subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=directory, env=environment(**further), text=True, encoding="utf-8", errors="replace",
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def start(directory, *arguments, module="runner", timeout=0, cpu_s=0, defaults=False, **further):
    """The same without the imports: a fork of the zygote, unless variables are given that Python reads at its start.

    It ends after `timeout` seconds, or `cpu_s` of the processor's time, if they are not 0. With `defaults` the command
    line stays as it is, although it counts lines and looks for races then.
    """
    if any(name.startswith(AT_START) for name in further):
        return fresh(directory, *arguments, module=module, **further)
    limits = {"timeout": timeout, "cpu_s": cpu_s, "defaults": defaults}
    request = requested(directory, arguments, module, environment(**further), **limits)
    piped = subprocess.PIPE
    return Program(request, stdout=piped, stderr=piped, text=True, encoding="utf-8", errors="replace")


def run(directory, *arguments, timeout=PATIENCE_S, **options):
    """`python -m runner ...` to its end, as by `start`."""
    process = start(directory, *arguments, timeout=timeout, **options)
    out, err = process.communicate(timeout=timeout + 20)
    return Finished(process.returncode, out, err, Path(directory))


def call(directory, *arguments, module="runner", **further):
    """The same in `subprocess`'s words."""
    done = run(directory, *arguments, module=module, **further)
    return subprocess.CompletedProcess([module, *arguments], done.code, done.out, done.err)


def resume(directory, folder, **further):
    """`python -m runner resume FOLDER`."""
    return call(directory, folder, module="runner.resume", **further)


def wait_until(reached, process=None):
    """Wait for what a process is to leave; it may have ended by then."""
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        if process is not None and process.poll() is not None:
            return
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.002)


def kill_all(process):
    """End a program and all that it started, as by kill -9 of its group."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def members(process):
    """The processes of a program's group that are still there; a compiler takes a moment to end."""
    found = subprocess.run(
        ["pgrep", "-g", str(process.pid), "-r", "R,S,D"], capture_output=True, text=True, check=False
    )
    return found.stdout.split()


def table(folder):
    """results.csv, as text where exactness matters."""
    return pd.read_csv(folder / "results.csv", dtype={"value": str, "reference": str, "block": str, "mask": str})


def content(folder):
    """All files of a folder, with their bytes."""
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def cold_cache(folder):
    """Variables for an empty cache in a folder, and the host's compiler without optimization: it builds the library sooner."""
    compiler = folder / "quick++"
    compiler.write_text('#!/bin/sh\nexec c++ "$@" -O0\n')
    compiler.chmod(0o700)
    return {"XDG_CACHE_HOME": str(folder / "cache"), "CXX": str(compiler)}


def planned_one_by_one(folder):
    """Make a sweep's folder one of an older version, whose sweeper planned a batch of jobs after the other."""
    path = folder / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "planned_at_once": False}))
