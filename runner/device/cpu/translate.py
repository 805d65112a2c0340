"""Translate a kernel's text for the host compiler.

The shim's macros turn CUDA's keywords into plain C++. One construct needs a rewrite: `extern __shared__ T name[];`
becomes a pointer, because `extern` excludes the storage class that `__shared__` stands for. Lines keep their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from runner.device import Source, cache

NATIVE = Path(__file__).parent / "native"  # the device's own C++

# File names of the generated lines.
WRAPPER = "<launcher>"
PARAMETERS = "<parameters>"

_COMMENT_OR_LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_ALIGNMENT = r"(?:__align__|alignas)\s*\([^)]*\)"
_DYNAMIC_SHARED = re.compile(
    rf"\b(?:(?:extern|volatile|{_ALIGNMENT})\s*)*\b__shared__\s*(?:(?:extern|volatile|{_ALIGNMENT})\s*)*"
    r"\b(?P<element>[A-Za-z_][\w:<>, ]*?)\s*"
    rf"(?:{_ALIGNMENT}\s*)?"
    r"\b(?P<name>[A-Za-z_]\w*)\s*\[\s*\]\s*;"
)


def blank(text: str) -> str:
    """Replace comments and literals by blanks: same length, same lines, safe to search for tokens."""
    return _COMMENT_OR_LITERAL.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def rewrite_dynamic_shared(text: str) -> str:
    """Turn each `extern __shared__` array into a pointer, except in comments and literals."""
    pieces, end = [], 0
    for found in _DYNAMIC_SHARED.finditer(blank(text)):
        words = set(re.findall(r"\w+", found.group()))
        if "extern" in words:
            element = re.sub(r"\bvolatile\b", "", found["element"]).strip()
            pointer = f"{'volatile ' * ('volatile' in words)}{element} *{found['name']}"
            lines = "\n" * found.group().count("\n")
            pieces += [text[end : found.start()], f"{pointer} = ::simt::dynamic_shared<{element}>();{lines}"]
            end = found.end()
    return "".join(pieces) + text[end:]


@dataclass
class Translation:
    """A kernel's text, ready for the compiler."""

    text: str  # the whole translation unit
    staged: dict[Path, str]  # rewritten copies of included files, by the path at which the text expects them


class _Translator:
    """Rewrites a kernel and the files that it includes; system headers are left to the compiler."""

    def __init__(self, folder: Path, stage: Path) -> None:
        self._folder = folder
        self._stage = stage
        self._done: dict[Path, Path] = {}
        self.staged: dict[Path, str] = {}

    def translate(self, text: str, folder: Path) -> str:
        """Rewrite a text and, where an included file had to be rewritten, its #include."""
        visible = blank(text)

        def include(found: re.Match[str]) -> str:
            if not visible[found.start() : found.end()].lstrip().startswith("#"):
                return found.group()  # in a comment
            path = cache.find(found[2], folder, self._folder)
            return f'{found[1]}"{self._include(path)}"' if path else found.group()

        return rewrite_dynamic_shared(cache.INCLUDE.sub(include, text))

    def _include(self, path: Path) -> Path:
        """Translate an included file; return where the compiler finds it."""
        if path in self._done:
            return self._done[path]
        self._done[path] = path  # a file that includes itself
        original = path.read_text(encoding="utf-8", errors="surrogateescape")
        translated = self.translate(original, path.parent)
        nameable = '"' not in str(path)  # in an #include nothing can be escaped
        if not nameable or rewrite_dynamic_shared(original) != original or str(self._stage) in translated:
            content = f'#line 1 "{_escape(str(path))}"\n{translated}'
            self._done[path] = self._stage / cache.key(content)[:16] / path.name
            self.staged[self._done[path]] = content
        return self._done[path]


def translate(source: Source, stage: Path) -> Translation:
    """Make the translation unit of a kernel; `stage` is where the caller writes `staged`."""
    folder = source.path.resolve().parent
    translator = _Translator(folder, stage)
    body = translator.translate(source.text, folder)
    parts = [(PARAMETERS, source.defines()), (_escape(str(source.path)), body), (WRAPPER, _launcher(source))]
    return Translation("".join(f'#line 1 "{file}"\n{text}\n' for file, text in parts), translator.staged)


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')


def _launcher(source: Source) -> str:
    """The functions that `program.py` looks for in the binary."""
    exported = 'extern "C" __attribute__((visibility("default"), externally_visible))'
    lines = [
        "static thread_local char simt_anchor;",
        f"{exported} void *simt_shared_anchor() {{ return &simt_anchor; }}",
        f"{exported} void simt_kernel(void **arguments) {{ simt::Kernel<&{source.function}>::run(arguments); }}",
        f"{exported} size_t simt_signature(char *out, size_t room) {{",
        f"    return simt::Kernel<&{source.function}>::signature(out, room);",
        "}",
    ]
    lines += [
        f"{exported} void *simt_constant_{name}(size_t *bytes) {{ *bytes = sizeof({name}); return (void *)&{name}; }}"
        for name in source.constants
    ]
    return "\n".join(lines) + "\n"


def is_ours(file: str) -> bool:
    """Whether the file is the shim's, also where another checkout filled the cache."""
    return "/".join(("", *NATIVE.parts[-3:], "")) in file
