"""`python -m runner` many times over: a process that has done all imports, and forks for each command line.

A fork is a process of its own, as fresh as one that was started; only the two seconds of imports are spared. The standard
input is a socket, over which each request brings three descriptors: standard output and error of the program, and a socket
on which `guard` talks about it.

What such a program starts with its own interpreter, as its worker and the process that draws its figures, is a fork of the
program. A program that was started with an interpreter starts them with one, too.
"""

import atexit
import concurrent.futures.thread
import contextlib
import fcntl
import functools
import gc
import importlib.util
import json
import multiprocessing.util
import os
import pkgutil
import resource
import runpy
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import traceback
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from omegaconf import OmegaConf

import runner.display.terminal
import runner.interruption
from runner.report.page import template

# What the program imports late, or inside libraries.
LATE = (
    "hydra._internal.hydra", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure",
    "multiprocessing.pool", "pandas", "rich.table",
)  # fmt: skip
AT_START = ("PYTHON", "LC_", "LANG", "LD_")  # Python reads such variables once, when it starts
PARENTS = []  # a fork's streams of before: what is still in their buffers is for the parent to write
OURS = "PYTHONPATH"  # names this package for every process


def preload() -> None:
    """Import every module of the program, but for those of a GPU, which belong to the process that opens it."""
    modules = (m.name for m in pkgutil.walk_packages(runner.__path__, "runner.", onerror=lambda _: None))
    for name in (*LATE, *modules):
        if not name.endswith(".__main__") and ".cuda" not in name:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    warm()
    gc.freeze()


def warm() -> None:
    """Let Hydra and Jinja fill the caches that they keep: tables of their parsers, plugins, compiled templates."""
    Plugins.instance()
    OverridesParser.create().parse_overrides(["kernel=a,b*", "+size='2**4'", "c.d=[1,-2.5]", "e=${f}", "g=glob(h*)"])
    OmegaConf.to_container(OmegaConf.create({"a": "b/${oc.env:HOME}-${c}", "c": 1}), resolve=True)
    for page in (template("page.html", "runner.report"), template("compare.html", "runner.compare", "runner.report")):
        for part in page.environment.list_templates(["html"]):
            page.environment.get_template(part)


def become(request: dict, out: int, err: int) -> None:
    """Go on as `python -m MODULE ...`, in the folder and with the environment of the request."""
    os.setsid()
    gc.set_threshold(100_000)  # a short program makes little garbage
    terminal = os.isatty(out)
    for ours, given in ((0, out if terminal else os.open(os.devnull, os.O_RDONLY)), (1, out), (2, err)):
        os.dup2(given, ours)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if terminal:  # from which Ctrl-C comes
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    open_streams()
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    if most := request["environment"].get("MEMORY_MIB"):  # beside what is there already
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        room = pages * resource.getpagesize() + int(most) * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    signal.alarm(request["timeout"])
    if cpu_s := request["cpu_s"]:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
    runner.display.terminal.QUIET_S = float(request["environment"].get("QUIET_S", "600"))  # as in conftest.py
    sys.path[0] = request["directory"]
    subprocess.Popen = Forking
    run_module(request["module"], request["arguments"])


def run_module(module: str, arguments: list[str]) -> NoReturn:
    """Go on as `python -m MODULE ...`."""
    sys.argv = [module, *arguments]
    spec = importlib.util.find_spec(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    name = f"{module}.__main__" if is_package else module
    sys.modules.pop(name, None)  # runpy makes it anew
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    sys.exit()


class Forking(subprocess.Popen):
    """A process that a program starts. One of its own interpreter is a fork of it, which goes on where Python would begin."""

    def __init__(self, args: Any, *positional: Any, **options: Any) -> None:
        environment = options.get("env") or dict(os.environ)
        if forks(args, environment) and not positional:
            start = functools.partial(begin, args[1:], environment, options.get("pass_fds", ()))
            options["preexec_fn"] = functools.partial(leave, start)
        super().__init__(args, *positional, **options)


def forks(args: Any, environment: dict) -> bool:
    """Whether it is `python -c CODE` or `python -m MODULE ...`, with the variables that Python has read."""
    if not isinstance(args, list) or args[:1] != [sys.executable] or args[1:2] not in (["-c"], ["-m"]):
        return False
    names = {name for name in (*environment, *os.environ) if name.startswith(AT_START) and name != OURS}
    return all(environment.get(name) == os.environ.get(name) for name in names)


def begin(words: list[str], environment: dict, descriptors: tuple[int, ...]) -> None:
    """Go on as an interpreter with these words begins: with these descriptors alone, and none of the parent's duties."""
    gc.freeze()  # nor may objects of the parent close a descriptor that has another meaning now
    kept = (*sorted(descriptors), os.sysconf("SC_OPEN_MAX"))
    for before, after in zip((2, *kept), kept, strict=False):
        os.closerange(before + 1, after)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    PARENTS.extend((sys.stdin, sys.stdout, sys.stderr))
    open_streams()
    forget_what_is_to_be_done_at_the_end()
    os.environ.clear()
    os.environ.update(environment)
    option, program, *further = words
    sys.path[0] = str(Path.cwd()) if option == "-m" else ""
    if option == "-m":
        run_module(program, further)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = ["-c", *further]
    exec(compile(program, "<string>", "exec"), vars(main))  # noqa: S102
    sys.exit()


def forget_what_is_to_be_done_at_the_end() -> None:
    """It is the parent's: to end a compiler, to remove a folder, to wait for threads."""
    atexit._clear()
    concurrent.futures.thread._threads_queues.clear()
    weakref.finalize._registry.clear()
    weakref.finalize._registered_with_atexit = False
    atexit.register(multiprocessing.util._exit_function)
    vars(runner.interruption._signals).clear()


def open_streams() -> None:
    """Python's three streams, on the descriptors 0, 1 and 2."""
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115


def leave(program: Callable[[], None]) -> NoReturn:
    """Run a program and end as Python does, but for giving back the memory that is shared with this process."""
    status = 1
    try:
        program()
    except SystemExit as e:
        status = e.code if isinstance(e.code, int) else int(e.code is not None)
        if isinstance(e.code, str):
            sys.stderr.write(f"{e.code}\n")
    except BaseException:  # noqa: BLE001  (as Python does)
        traceback.print_exc()
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"Exception ignored in: {sys.stdout}\n{error!r}\n")
        status = 120
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


def guard(out: int, err: int, talk: int) -> None:
    """Fork a program, tell its number, and how it ended. Until that was heard its number is no other program's."""
    with socket.socket(fileno=talk) as line, line.makefile() as told:
        request = json.loads(told.readline())
        program = os.fork()
        if program == 0:
            leave(functools.partial(become, request, out, err))
        os.close(out)
        os.close(err)
        with contextlib.suppress(OSError):  # nobody may be there any more
            line.sendall(f"{program}\n".encode())
            ended = os.waitid(os.P_PID, program, os.WEXITED | os.WNOWAIT)
            status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            line.sendall(f"{status}\n".encode())
            line.recv(1)
        os.waitpid(program, 0)


def serve(requests: socket.socket) -> None:
    """Fork for each request, until nobody can make one any more."""
    while (received := socket.recv_fds(requests, 1, 3))[0]:
        if os.fork() == 0:
            try:
                guard(*received[1])
            finally:
                os._exit(0)
        for descriptor in received[1]:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG):  # guards of programs that have ended
                pass


if __name__ == "__main__":
    preload()
    serve(socket.socket(fileno=0))
