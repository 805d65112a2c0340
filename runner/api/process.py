"""The process of a sweep that Python has asked for: `runner.api.sweeping` starts it, and waits for its answer.

A request comes as one line of JSON on standard input, the answer leaves as JSON on standard output, and progress as
text on standard error. Standard input stays open as long as somebody waits: at its end the sweep ends, too, so that
restarting a notebook's kernel does not leave a sweep on the GPU.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import Any

from runner import interruption
from runner.cli import Options, importing
from runner.errors import DeviceUnavailable, UsageError
from runner.sweep.session import Session, start_worker


def main() -> None:
    """Run the sweep of the request, and write the answer."""
    answer_to = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the summary: the caller shows the run
    interruption.listen()
    request = json.loads(_first_line())
    threading.Thread(target=_end_with_caller, daemon=True).start()
    answer = run(request["words"], quiet=request["quiet"])
    with os.fdopen(answer_to, "w", encoding="utf-8") as file:
        json.dump(answer, file)


def run(words: list[str], *, quiet: bool) -> dict[str, Any]:
    """Run a sweep.

    Args:
        words: Its command line.
        quiet: Whether to show warnings only.

    Returns:
        `folder` (empty if there is none), `left_out` (a sentence by kernel), and either `status`, that of the command
        line, or `interrupted`, or `usage` or `device`, a sentence.
    """
    session, answer = Session(options=Options(quiet=quiet)), dict[str, Any]()
    try:
        session.worker = start_worker(words)
        with importing():  # the worker starts before anything that is slow to import
            from runner.commands.run_sweep import run_sweep  # noqa: PLC0415
            from runner.compose import app  # noqa: PLC0415
        answer["status"] = run_sweep(session, lambda: app.run(words, session))
    except KeyboardInterrupt:
        answer["interrupted"] = True
    except UsageError as e:
        answer["usage"] = str(e)
    except DeviceUnavailable as e:
        answer["device"] = str(e)
    finally:
        interruption.ignore()
        if worker := session.take_worker():  # interrupted before `run_sweep`
            worker.kill()
    folder = session.folder
    kept = folder is not None and (folder.has(folder.results) or folder.has(folder.plan))  # shards may run on
    return {**answer, "folder": str(folder.path) if folder and kept else "", "left_out": session.left_out}


def _first_line() -> bytes:
    """The request, read without Python's buffer: the thread that waits would keep it locked at the process's end."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(0, 1 << 16)):
        line += more
    return line


def _end_with_caller() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
