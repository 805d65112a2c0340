"""What the tests of mistakes share: running a command line quickly, and what a told mistake looks like."""

import atexit
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

from support import ROOT, Finished

LONGEST = 600


@functools.cache
def _zygote() -> subprocess.Popen:
    """Started by the first test that needs it, with the session's own cache in its environment."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(Path(__file__).parent / "zygote.py")]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
    )

    def end() -> None:
        process.stdin.close()
        process.stdout.close()
        process.wait()

    atexit.register(end)
    return process


def run(directory: Path, *arguments: str, module: str = "runner.__main__", **environment: str) -> Finished:
    """`python -m runner ...` in a folder, or another of its commands, without the time that its imports take."""
    request = {
        "directory": str(directory), "arguments": list(map(str, arguments)), "environment": environment, "module": module,
    }  # fmt: skip
    zygote = _zygote()
    print(json.dumps(request), file=zygote.stdin, flush=True)
    return Finished(directory=directory, **json.loads(zygote.stdout.readline()))


def lay(directory: Path, files: dict[str, str | bytes]) -> None:
    """Files of a test, by their names."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content)


def is_a_told_mistake(done: Finished, *words: str) -> None:
    """One sentence on stderr with these words, status 2, nothing run, nothing left behind."""
    assert done.code == 2, done.err
    assert done.err.startswith("runner: "), done.err
    assert done.err.endswith("\n")
    assert done.err[:-1].isprintable(), "one line, without control characters"
    assert len(done.err) < LONGEST
    assert not done.out
    for word in words:
        assert word in done.err
    assert not list(done.directory.glob("outputs*/**/*"))
    assert not (done.directory / "outputs").is_dir()
