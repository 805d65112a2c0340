"""Malformed inputs: strategies that spoil sound ones, and what the program must do with them whatever they are.

A spoilt input is far more telling than a random text, which the first parser refuses.
"""

import json
import os
import resource
import signal
import socket
import traceback
from pathlib import Path

import processes
from hypothesis import HealthCheck, example, settings
from hypothesis import strategies as st

from runner.errors import RunnerError

LONG_RUN = os.environ.get("FUZZ") == "long"  # as `make fuzz` sets it: other inputs each time, and more of them
FEWEST = 3  # drawn inputs
LIMIT_S, MEMORY = 20, 1 << 30  # of the processor and of memory, that a command may take
PATIENCE_S = 120  # for one that waits: a busy machine is slow
REFUSED = 2  # the status of a fork that raised what becomes a sentence
HIDDEN = "what-only-the-file-outside-holds"
SCRIPT = "<script>fuzzed()</script>"


def fuzzed(count, corpus=(), fewest=FEWEST):
    """A property of all inputs that were found before, and of `count` drawn ones: a few, and the same each time, in CI."""

    def decorate(test):
        for found in corpus:
            test = example(found)(test)
        return settings(
            max_examples=10 * count if LONG_RUN else max(fewest, count // 12),
            derandomize=not LONG_RUN,
            database=None,
            deadline=None,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        )(test)

    return decorate


# ---- what a command must do


def withstands(directory, *arguments, module="runner", statuses=(0, 1, 2)):
    """Run a command within its limits; it must end in a status, and in a sentence if the status is 2."""
    limits = {"timeout": PATIENCE_S, "cpu_s": LIMIT_S, "MEMORY_MIB": str(MEMORY >> 20)}
    done = processes.run(directory, *arguments, module=module, defaults=True, **limits)
    said = f"{module} {arguments} ended with {done.code}:\n{done.out[-2000:]}\n{done.err[-4000:]}"
    assert done.code not in (-signal.SIGALRM, -signal.SIGXCPU), f"a hang: {said}"
    assert "Traceback" not in done.out + done.err, said
    assert done.code in statuses, said
    if done.code == 2:
        assert done.err.strip() or "Plan: 0 cases to run" in done.out, said  # each is skipped, with its reason
        assert max(map(len, done.err.splitlines()), default=0) < 1200, said
    assert HIDDEN not in done.out + done.err, f"read what lies outside: {said}"
    return done


def raises_only_our_errors(work):
    """Run a function in a fork within the same limits; it may raise only what becomes a sentence. Gives whether it did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 5))
            work()
        except RunnerError:
            os._exit(REFUSED)
        except BaseException:  # noqa: BLE001  (the parent must not go on twice)
            os.write(writing, traceback.format_exc()[-8000:].encode(errors="replace"))
        finally:
            os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read().decode()
    assert not os.WIFSIGNALED(status), f"ended by signal {signal.Signals(os.WTERMSIG(status)).name}"
    assert not said, said
    return os.waitstatus_to_exitcode(status) == REFUSED


class Outside:
    """A folder beside the one that is read: it must stay as it is, and its file unread."""

    def __init__(self, path):
        self.folder = path
        path.mkdir()
        self.file = path / "hidden"
        self.file.write_text(f"{HIDDEN}\n" * 20)
        os.utime(self.file, (0, 1_000_000_000))  # a first reading would move the first of these times
        self.before = self._state()

    def _state(self):
        files = sorted(self.folder.rglob("*"))
        return [(str(p), (s := p.lstat()).st_size, s.st_mtime_ns, s.st_atime_ns if p.is_file() else 0) for p in files]

    def is_untouched(self):
        """Whether nobody has read the file or changed the folder."""
        return self._state() == self.before


# ---- single values

HUGE_NUMBERS = [0, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 2**100, 10**30, 10**400, 1e308, -0.0, 0.5]
NOT_NUMBERS = [float("nan"), float("inf"), float("-inf")]
TEXTS = [
    "", " ", "0", "-0", "1e999", "nan", "1_000", "0x" + "f" * 5000, "9" * 5000, "-" * 5000 + "1", "(" * 5000, "1:2:3",
    "2**100", "9**9**9", "1<<100000", "range(1,10**9)", "a" * 5000, "é\u202e\u0661", "\u0661", "\x00", "\x1b[2J", "\ud800",
    "../../../../etc/passwd", "/etc/passwd", "/", ".", "..", "~", "null", "true", "${oc.env:HOME}", "${nope}", "${", "{{7*7}}",
    "=1+1", "a,b", "a\nb", "a;b", "[1,2", "{a: 1", "'", '"', "\\", "*a", "&a", "!!python/none", "---", "%s%n", "2026-11-22",
    "16Mi", "4096x8192", "32x0x4", "1x" * 2000, SCRIPT, "'><img src=x onerror=fuzzed()>", "popcount('x')", "1 and 'x'",
]  # fmt: skip
SCALARS = [None, True, False, *HUGE_NUMBERS, *NOT_NUMBERS, *TEXTS]


def scalars():
    """What a single value may be replaced by."""
    return st.one_of(st.sampled_from(SCALARS), st.integers(), st.text(max_size=12))


# ---- texts and bytes


@st.composite
def edited(draw, content, words=TEXTS):
    """Bytes with a few edits: a part cut, repeated, moved, or replaced by a word."""
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(content)))
        end = min(len(content), first + draw(st.sampled_from([0, 1, 2, 5, 20, 200, 10**6])))
        word = draw(st.sampled_from(words)).encode("utf-8", "surrogatepass")
        lines = content.split(b"\n")
        at = draw(st.integers(0, len(lines) - 1))
        content = draw(
            st.sampled_from([
                content[:first] + content[end:],
                content[:first] + word + content[end:],
                content[:first] + content[first:end] * 2 + content[end:],
                content[:first],
                b"\n".join(lines[:at] + lines[at : at + 1] * 2 + lines[at + 1 :]),
                b"\n".join([*lines[:at], word, *lines[at + 1 :]]),
            ])
        )  # fmt: skip
    return content


# ---- nested values, as JSON and YAML hold them


def places(value, before=()):
    """The path of each value within a nested one."""
    yield before
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(below, (*before, key))


def _at(value, path):
    for key in path:
        value = value[key]
    return value


@st.composite
def mutated(draw, value, most=3):
    """A copy of a nested value with a few values replaced, removed, renamed, wrapped or repeated."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(list(places(value))))
        here = _at(value, path)
        new = draw(st.one_of(
            scalars(),
            st.sampled_from([[], {}, [here], {"a": here}, [here] * 3, nested(50), {f"k{i}": i for i in range(2000)}]),
            st.sampled_from([*places(value)]).map(lambda p, v=value: json.loads(json.dumps(_at(v, p)))),
        ))  # fmt: skip
        if not path:
            value = new
            continue
        parent, key = _at(value, path[:-1]), path[-1]
        how = draw(st.sampled_from(["replace", "replace", "replace", "remove", "rename"]))
        if how == "replace":
            parent[key] = new
        else:
            del parent[key]
        if how == "rename" and isinstance(parent, dict):
            parent[str(draw(scalars()))] = here
        if not isinstance(value, dict | list):
            break
    return value


def nested(depth):
    """A list in a list in a list."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def as_json(value):
    """JSON of a nested value, however deep."""
    try:
        return json.dumps(value).encode("utf-8", "surrogatepass")
    except RecursionError:
        return b"[" * 100_000


# ---- what a name in a folder may stand for, other than its file


def _sparse(path, _):
    with path.open("wb") as file:
        file.truncate(10 << 30)


def _socket(path, _):
    here = os.open(path.parent, os.O_PATH)  # a socket's name has few characters
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


INSTEAD = {
    "nothing": lambda _path, _: None,
    "an empty file": lambda path, _: path.write_bytes(b""),
    "a folder": lambda path, _: path.mkdir(),
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a socket": _socket,
    "a sparse file of 10 GB": _sparse,
    "a link to /dev/zero": lambda path, _: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path, outside: path.symlink_to(outside.folder / "not-there"),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a link to a file outside": lambda path, outside: path.symlink_to(outside.file),
    "a link to a folder outside": lambda path, outside: path.symlink_to(outside.folder),
    "a link to /": lambda path, _: path.symlink_to("/"),
    "deep JSON": lambda path, _: path.write_bytes(b"[" * 200_000),
    "a line of 20 MB": lambda path, _: path.write_bytes(b"x" * 20_000_000),
    "a million lines": lambda path, _: path.write_bytes(b"1,2\n" * 1_000_000),
    "100000 columns": lambda path, _: path.write_bytes(b"case," + b",".join(b"c%d" % i for i in range(100_000)) + b"\n"),
    "a YAML bomb": lambda path, _: path.write_bytes(bomb()),
    "an array of 2^60": lambda path, _: path.write_bytes(promising(f"({1 << 60},)")),
    "an array of no shape": lambda path, _: path.write_bytes(promising("(-1,)")),
    "an array of objects": lambda path, _: path.write_bytes(promising("(3,)", "|O")),
}  # fmt: skip


def replace(path: Path, what: str, outside: Outside) -> None:
    """Put something else in the place of a file or folder."""
    if path.is_dir():
        path.rename(path.with_name(f"{path.name}-moved"))
    else:
        path.unlink(missing_ok=True)
    INSTEAD[what](path, outside)


def promising(shape, dtype="<f8"):
    """An .npy file whose header promises more than it has."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 64


def bomb(value="[1, 1, 1]", link="[*]"):
    """A YAML of a few lines that stands for nine times nine times nine ... of a value; `link` has nine aliases."""
    lines = [f"a0: &a0 {value}"]
    lines += [f"a{i}: &a{i} {link.replace('*', ', '.join([f'*a{i - 1}'] * 9))}" for i in range(1, 12)]
    return "\n".join([*lines, "parameters: *a11", ""]).encode()
