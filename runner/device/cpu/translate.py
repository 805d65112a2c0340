"""Translate a kernel's text for the host compiler.

The shim's macros turn CUDA's keywords into plain C++. One construct needs a rewrite: `extern __shared__ T name[];`
becomes a reference to an array, because `extern` excludes the storage class that `__shared__` stands for. Where C++
allows no reference, it becomes a pointer, and what takes the array's address is rewritten. An `alignas` behind
`__shared__` changes places with it, and a shared variable of a type that C++ does not have itself is told to the shim,
which asks whether it has padding. A kernel with `__launch_bounds__` begins with a call that checks them. Names of the
host are marked (`host_only.py`), and inline PTX becomes calls (`ptx.py`). Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from runner.device import Source, cache, options, pointer_to
from runner.device.cpu.host_only import mark_host_only
from runner.device.cpu.ptx import ASM, HEADER, edited, rewrite_ptx, split_outside_brackets
from runner.device.excerpt import STAND_INS, system_headers
from runner.device.syntax import device_functions, parse

NATIVE = Path(__file__).parent / "native"  # the device's own C++

# File names of the generated lines.
WRAPPER = "<launcher>"
PARAMETERS = "<parameters>"

ANCHOR = "simt_anchor"  # the launcher's own thread-local variable
DYNAMIC = "simt_dynamic"  # the namespace of file-scope pointers to dynamic shared memory, which are thread-local too

_COMMENT_OR_LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_GROUP = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # parentheses, with two levels of others in them
_ATTRIBUTE = rf"(?:__align__|alignas|__attribute__)\s*{_GROUP}"
_BETWEEN = rf"(?:{_ATTRIBUTE}|[\w:<>,*\s]){{0,100}}?"  # limits, so that no text takes long
_DYNAMIC_SHARED = re.compile(
    rf"(?:\b(?:volatile|static)\s+|{_ATTRIBUTE}\s*){{0,8}}"
    rf"\b(?:extern\b{_BETWEEN}\b__shared__|__shared__\b{_BETWEEN}\bextern)\b"
    rf"(?P<rest>(?:{_ATTRIBUTE}|[^;{{}}()[]){{0,200}}+\[[^][;]*\](?:{_ATTRIBUTE}|[^;{{}}()]){{0,200}}+);"
)
_ALIGNED_SHARED = re.compile(rf"\b__shared__(\s+)(alignas\s*{_GROUP})")
_SHARED = re.compile(
    rf"\b__shared__\s+(?:(?:volatile|const|static|{_ATTRIBUTE})\s*)*"
    r"(?P<type>(?!extern\b|unsigned\b|signed\b)(?:struct\s+)?[A-Za-z_][\w:]*(?:<[^;{}()]{0,200}>)?)\s+"
    r"(?P<names>[^;{}()=]{1,300});"
)
_BUILT_IN = re.compile(
    r"(?:bool|char|short|int|long|float|double|u?int\d+_t|size_t|(?:u?(?:char|short|int|long)|float|double)[1-4])"
)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[[^;]*\]\s*)?\Z")
_DECLARATOR = re.compile(
    r"(?P<element>.*?)(?P<name>[A-Za-z_]\w*)\s*\[(?P<length>[^][]*)\]\s*(?P<rows>(?:\[[^][]*\]\s*)*)", re.DOTALL
)
# Where a pointer in place of an array would be taken for the array: in casts to a reference, and behind `&`.
_ADDRESSED = (
    r"(?:>\s*\(\s*&?|&\s*\)|\(\s*&\s*\)\s*(?:\[[^][]*\]\s*)+\)|\*\s*\)\s*&|[,=]\s*&)\s*"
    r"\b(?P<name>{names})\b(?!\s*[]\w[.]|\s*->)"
)
# What a brace opens without beginning a function or a class; the literal of `extern "C"` is blank.
_SCOPE = re.compile(r"(?:\bnamespace(?:\s+[\w:]+)?|\bextern)\s*$")


def blank_comments_and_literals(text: str) -> str:
    """Replace comments and literals by blanks: same length, same lines, safe to search for tokens."""
    return _COMMENT_OR_LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def rewrite_dynamic_shared(text: str) -> str:
    """Turn each `extern __shared__` array into a reference or a pointer, except in comments and literals.

    In a function it is a reference, unless a lambda copies it, which C++ forbids for an array without a length. At file
    scope there is no block yet: each OS thread has a pointer of its own, which is set before a block runs.
    """
    edits, visible = [], blank_comments_and_literals(text)
    for match in _DYNAMIC_SHARED.finditer(visible):
        arrays = _arrays(re.sub(_ATTRIBUTE, " ", match.group()[:-1]))
        names = "|".join(array.name for array in arrays)
        at_file_scope = _is_file_scope(visible[: match.start()])
        is_pointer = at_file_scope or re.search(rf"\[\s*=\s*[],]|\[(?:[^][()]*,)?\s*(?:{names})\s*[],]", visible)
        how = _Array.global_pointer if at_file_scope else _Array.pointer if is_pointer else _Array.reference
        if arrays:
            edits.append((*match.span(), " ".join(map(how, arrays)) + "\n" * match.group().count("\n")))
        if arrays and is_pointer:
            addressed = re.finditer(_ADDRESSED.format(names=names), visible)
            edits += [(*m.span("name"), f"::simt::array({m['name']})") for m in addressed]
    return edited(text, sorted(set(edits)))


def rewrite(text: str, *, relaxed: bool = False) -> str:
    """Apply all rewrites to a text; `relaxed` as for `mark_host_only`."""
    # No macro, which would break the attributes in the host's own headers.
    text = re.sub(r"(?<!\()\b__noinline__\b", "__attribute__((noinline))", text)
    text = mark_host_only(text, blank_comments_and_literals(text), relaxed=relaxed)
    text = _require_bounds(text)
    # C++ wants `alignas` before what `__shared__` stands for.
    aligned = _ALIGNED_SHARED.finditer(blank_comments_and_literals(text))
    text = edited(text, ((*m.span(), f"{text[m.start(2) : m.end()]}{m[1]}__shared__") for m in aligned))
    text = _tell_structures(text)
    return rewrite_dynamic_shared(rewrite_ptx(text, blank_comments_and_literals(text)))


def _tell_structures(text: str) -> str:
    """Add a call behind the declaration of each shared variable in a function whose type may be a structure."""
    visible = blank_comments_and_literals(text)
    edits = []
    for match in _SHARED.finditer(visible):
        if _BUILT_IN.fullmatch(match["type"]) or _is_file_scope(visible[: match.start()]):
            continue
        names = [_NAME.match(part) for part in split_outside_brackets(match["names"], match["names"], ",")]
        if all(names):
            calls = (f" ::simt::shared_structure({name[1]});" for name in names if name)
            edits.append((match.end(), match.end(), "".join(calls)))
    return edited(text, edits)


def _require_bounds(text: str) -> str:
    """Add a call at the beginning of each kernel with `__launch_bounds__`, which may name its template's parameters."""
    if "__launch_bounds__" not in text:
        return text
    edits, file = [], parse(text)
    for function in device_functions(file):
        body, bounds = function.child_by_field_name("body"), [n for n in function.children if n.type == "launch_bounds"]
        is_chosen = any(n.type.startswith("preproc") for n in function.children)  # by an `#if` among several
        if body and len(bounds) == 1 and bounds[0].named_children and not is_chosen:
            threads = bounds[0].named_children[0]
            allowed = blank_comments_and_literals((threads.text or b"").decode(errors="replace"))
            place = file.place(body.start_byte + 1)
            call = f" ::simt::require_bounds({' '.join(allowed.split())}, {threads.start_point[0] + 1});"
            edits.append((place, place, call))
    return edited(text, edits)


class _Array(NamedTuple):
    """A dynamic shared array of a declaration."""

    element: str  # its type, with `volatile`
    name: str
    length: str  # mostly empty
    rows: str  # the lengths behind the first one

    def reference(self) -> str:
        """Its declaration as a reference, which behaves like the array."""
        kind = f"[{self.length}]{self.rows}"
        if self.length:
            return f"{self.element} (&{self.name}){kind} = *::simt::dynamic_shared<{self.element}{kind}>();"
        return f"{self.element} (&{self.name}){kind} = ::simt::dynamic_array<{self.element}{self.rows}>();"

    def pointer(self) -> str:
        """Its declaration as a pointer to its first element."""
        return f"{self._target} = {self._first};"

    def global_pointer(self) -> str:
        """Its declaration as a pointer at file scope."""
        setter = f"static const ::simt::BlockSetter set_{self.name}{{[] {{ {self.name} = {self._first}; }}}};"
        own = f"namespace {DYNAMIC} {{ static thread_local {self._target}; {setter} }}"
        return f"{own} using {DYNAMIC}::{self.name};"

    @property
    def _target(self) -> str:
        return f"{self.element} (*{self.name}){self.rows}" if self.rows else f"{self.element} *{self.name}"

    @property
    def _first(self) -> str:
        return f"::simt::dynamic_shared<{self.element}{self.rows}>()"


def _arrays(declaration: str) -> list[_Array]:
    """The arrays of a declaration; none if it declares anything else."""
    is_volatile = "volatile" in re.findall(r"\w+", declaration)
    plain = re.sub(r"\b(?:extern|static|volatile|__shared__)\b", " ", declaration)
    first, *others = split_outside_brackets(plain, plain, ",", ("([<", ")]>"))
    head = _DECLARATOR.fullmatch(first.strip())
    if head is None or not head["element"].strip(" *"):
        return []
    base = " ".join(head["element"].rstrip("* \n").split())
    arrays = []
    for declarator in (first.strip()[len(head["element"].rstrip("* \n")) :], *others):
        parts = _DECLARATOR.fullmatch(declarator.strip())
        if parts is None or parts["element"].strip("* \n"):
            return []
        stars, rows = parts["element"].count("*") * "*", "".join(parts["rows"].split())
        arrays.append(_Array(f"{'volatile ' * is_volatile}{base}{stars}", parts["name"], parts["length"].strip(), rows))
    return arrays


def _is_file_scope(before: str) -> bool:
    """Whether the text ends at file or namespace scope."""
    if re.search(r"^[ \t]*#(?:[^\n]|\\\n)*\Z", before, re.MULTILINE):
        return False
    opened: list[bool] = []
    for brace in re.finditer(r"[{}]", before):
        if brace.group() == "{":
            opened.append(bool(_SCOPE.search(before, max(0, brace.start() - 200), brace.start())))
        elif opened:
            opened.pop()
    return all(opened)


@dataclass
class Translation:
    """A kernel's translation unit for the host's compiler."""

    text: str  # the whole translation unit
    staged: dict[Path, str]  # rewritten copies of included files, by the path at which the text expects them
    has_shared: bool  # whether the text or an included file may have shared variables


class _Translator:
    """Rewrites a kernel and the files that it includes; system headers are left to the compiler."""

    def __init__(self, source: Source, stage: Path, texts: Mapping[Path, str]) -> None:
        self._folders = source.folders
        self._relaxed = options.RELAXED in source.options
        files = dict.fromkeys(cache.includes(source.text, source.folders))
        needed = ((str(path), texts.get(path) or cache.read(path)) for path in files)
        self._identity = cache.key(str(self._relaxed), *(part for file in needed for part in file))
        self._stage = stage
        self._texts = texts
        self._translated: dict[Path, Path] = {}
        self.staged: dict[Path, str] = {}
        self.has_shared = self.has_ptx = False

    def translate(self, text: str, folder: Path) -> str:
        """Rewrite a text and, where an included file had to be rewritten, its #include."""
        visible = blank_comments_and_literals(text)
        self.has_shared |= "__shared__" in visible
        self.has_ptx |= bool(ASM.search(visible))

        def include(match: re.Match[str]) -> str:
            if not visible[match.start() : match.end()].lstrip().startswith("#"):
                return match.group()  # in a comment
            path = cache.find(match["name"], folder, self._folders, quoted=match["open"] == '"')
            return f'{match["head"]}"{self._include(path)}"' if path else match.group()

        return self._rewrite(cache.INCLUDE.sub(include, text))

    def _rewrite(self, text: str) -> str:
        return rewrite(text, relaxed=self._relaxed)

    def _include(self, path: Path) -> Path:
        """Translate an included file; return where the compiler finds it."""
        if path in self._translated:
            return self._translated[path]
        original = cache.read(path)
        needed = self._texts.get(path, original)
        # What includes it in a circle must know where it will be, if it is rewritten.
        staged = self._stage / cache.key(self._identity, str(path), original)[:16] / path.name
        self._translated[path] = staged
        translated = self.translate(needed, path.parent)
        has_quote = '"' in str(path)  # in an #include it cannot be escaped
        if has_quote or self._rewrite(needed) != original or str(self._stage) in translated:
            self.staged[staged] = f'#line 1 "{_escape(str(path))}"\n{translated}'
        else:
            self._translated[path] = path
        return self._translated[path]


def translate(source: Source, stage: Path, texts: Mapping[Path, str] | None = None) -> Translation:
    """Make the translation unit of a kernel; `texts` replace the contents of some files, by resolved path.

    The caller will write the `staged` files below the folder `stage`.
    """
    path, texts = source.path.resolve(), texts or {}
    translator = _Translator(source, stage, texts)
    body = translator.translate(texts.get(path, source.text), path.parent)
    headers = system_headers(source, texts) if source.late_macros else ()
    defines = f"#include <{HEADER}>\n" * translator.has_ptx + source.defines(headers)
    parts = [(PARAMETERS, defines), (_escape(str(source.path)), body), (WRAPPER, _launcher(source))]
    text = "".join(f'#line 1 "{file}"\n{text}\n' for file, text in parts)
    shared = translator.has_shared or "__shared__" in source.defines()
    return Translation(text, translator.staged, shared)


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')


def _launcher(source: Source) -> str:
    """The C++ of the functions that `program.py` calls in the binary."""
    exported = 'extern "C" __attribute__((visibility("default"), externally_visible))'
    lines = [
        *(f"static constexpr auto simt_launched_{i} = {pointer_to(f)[1]};" for i, f in enumerate(source.functions)),
        *(f"#undef {name}" for name, _ in source.late_macros),  # they could be any word of what follows
        f"static thread_local char {ANCHOR};",
        f"{exported} void *simt_shared_anchor() {{ return &{ANCHOR}; }}",
    ]
    for i in range(len(source.functions)):
        lines += [
            f"using simt_function_{i} = simt::Kernel<simt_launched_{i}>;",
            f"{exported} void simt_kernel_{i}(void **arguments) {{ simt_function_{i}::run(arguments); }}",
            f"{exported} size_t simt_signature_{i}(char *out, size_t room) {{",
            f"    return simt_function_{i}::signature(out, room);",
            "}",
        ]
    lines += [
        f"{exported} void *simt_constant_{name}(size_t *bytes) {{ *bytes = sizeof({name}); return (void *)&{name}; }}"
        for name in source.constants
    ]
    return "\n".join(lines) + "\n"


def is_ours(file: str) -> bool:
    """Whether the file is the shim's, of this checkout or of another one that filled the cache."""
    return any("/".join(("", *folder.parts[-3:], "")) in file for folder in (NATIVE, STAND_INS))
