"""Run a sweep for Python, in a process of its own, and wait for it.

The process is interrupted by the same Ctrl-C as the caller: through the caller, so that no signal handler is installed
here and any thread may run a sweep.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from runner import children
from runner.api import overrides as keywords
from runner.api.own_kernel import Kernel
from runner.api.run import Run
from runner.compose.arguments import quote
from runner.errors import DeviceUnavailable, RunnerError, UsageError
from runner.files import scratch

FORCING = ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Environment variables that Jupyter sets for colours; the progress would take its lines for those of a terminal."""

PATIENCE_S = 30.0  # for a process whose caller gives up, to write down what it has measured


def sweep(
    kernel: str | Kernel | Iterable[str | Kernel] | None = None,
    *,
    config_dir: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    quiet: bool = False,
    overrides: str | Iterable[str] = (),
    **values: Any,
) -> Run:
    """Run a sweep. `runner.sweep` has the documentation.

    Raises:
        UsageError: The request is impossible, or kernels were left out because their YAML is wrong.
        DeviceUnavailable: The requested device cannot be opened.
        KeyboardInterrupt: Ctrl-C. The finished cases are kept.
        RunnerError: The process ended without an answer.
    """
    kernels = keywords.several("kernel", kernel) if keywords.is_several(kernel) else [kernel]  # type: ignore[arg-type]
    own = [each for each in kernels if isinstance(each, Kernel)]
    if len({each.name for each in own}) < len(own):
        raise UsageError(f"kernel={[each.name for each in own]}: two kernels have the same name; rename one")
    given = values if kernel is None else {"kernel": kernels, **values}
    if not isinstance(overrides, Iterable):
        raise UsageError(f"overrides={overrides!r}: expected a text KEY=VALUE, or several")
    raw = [overrides] if isinstance(overrides, str) else list(overrides)
    if options := [word for word in raw if not isinstance(word, str) or not word.strip() or word.startswith("-")]:
        raise UsageError(f"overrides: {options[0]!r}: expected KEY=VALUE; options such as --dry-run are the command's")
    several = [config_dir] if isinstance(config_dir, str | Path) else config_dir
    if not isinstance(several, Sequence) or not all(isinstance(each, str | Path) for each in several):
        raise UsageError(f"config_dir={config_dir!r:.80}: expected a folder, or a list of folders")
    with _written(own) as written:
        folders = list(map(str, several))
        words = [*_options([*folders, *written]), *keywords.overrides(given), *raw]
        if folder is not None:
            words.append(f"hydra.sweep.dir={keywords.text('folder', str(folder))}")
        answer = _run({"words": words, "quiet": quiet})
    return _opened(answer)


@contextmanager
def _written(kernels: Sequence[Kernel]) -> Iterator[list[str]]:
    """The configuration folder of kernels that are given as text, for as long as the sweep needs it."""
    if not kernels:
        yield []
        return
    with scratch.folder() as folder:
        for each in kernels:
            each.write(folder)
        yield [str(folder)]


def _options(folders: Sequence[str]) -> list[str]:
    """The first folder as --config-dir; Hydra takes the others as its search path."""
    if not folders:
        return []
    first, *others = folders
    path = ",".join(quote(f"file://{Path(each).absolute()}") for each in others)
    return ["--config-dir", first, *([f"hydra.searchpath=[{path}]"] if others else [])]


def _run(request: dict[str, Any]) -> dict[str, Any]:
    """Give a request to a new process, show its progress, and return its answer; without one, how it `ended`."""
    inherits = _is_terminal(sys.stderr)  # then the line of progress updates itself
    process = subprocess.Popen(
        [sys.executable, "-m", "runner.api.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if inherits else subprocess.PIPE,
        env={k: v for k, v in children.environment().items() if inherits or k not in FORCING},
        start_new_session=True,  # Ctrl-C reaches it once, through us
    )
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    content, interrupted = list[bytes](), False
    reader = threading.Thread(target=lambda pipe: content.append(pipe.read()), args=[process.stdout], daemon=True)
    reader.start()
    try:
        with suppress(BrokenPipeError):  # it ended at once
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        try:
            _follow(process)
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
            _follow(process)  # until the table and the report of the finished cases are written
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()  # the process ends if it has not
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
        except BaseException:  # somebody is impatient
            process.kill()
            raise
        finally:
            process.wait()
            reader.join()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()
    try:
        answer: dict[str, Any] = json.loads(content[0])
    except (ValueError, IndexError):
        answer = {"ended": process.returncode}
    return answer | {"interrupted": interrupted or "interrupted" in answer}


def _follow(process: subprocess.Popen[bytes]) -> None:
    """Show what a process says, until it ends."""
    for line in process.stderr or ():
        sys.stderr.write(line.decode(errors="replace"))
        sys.stderr.flush()
    process.wait()


def _is_terminal(stream: Any) -> bool:
    """Whether a stream is the process's own standard error, and a terminal. A notebook's stream is neither."""
    try:
        return bool(stream.isatty()) and stream.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False


def _opened(answer: dict[str, Any]) -> Run:
    """The run of an answer, or the exception that it stands for."""
    folder = answer.get("folder", "")
    opens = f"runner.open({folder!r})"
    if answer["interrupted"]:
        raise KeyboardInterrupt(f"{opens} has the finished cases" if folder else "before a case was finished")
    if "ended" in answer:
        raise RunnerError(f"the sweep's process ended with exit status {answer['ended']}; its messages stand above")
    if "usage" in answer:
        raise UsageError(answer["usage"])
    if "device" in answer:
        raise DeviceUnavailable(answer["device"])
    if not folder:
        raise RunnerError("nothing was measured; the reason stands above")
    if left_out := answer["left_out"]:
        raise UsageError(f"left out: {'; '.join(left_out.values())}; the cases of the others: {opens}")
    return Run(Path(folder))
