"""The part of a source that a kernel needs. The rest, such as `main`, is blanked, and line numbers stay.

A declaration is needed if a needed one mentions its name. This may keep more than necessary, but never a function or a
variable of the host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.device import Source, cache, unqualified
from runner.device.syntax import WORD, File, Item, ItemKind, blank, host_members, parse, qualifiers
from runner.errors import CompileError, UsageError

_HOST_ONLY = frozenset((ItemKind.HOST, ItemKind.INSTANCE))
# C++ headers that also declare global names; the others without `.h` declare names in namespace std only.
_GLOBAL_NAME_HEADERS = frozenset(
    "cassert cctype cerrno cfenv cfloat cinttypes climits cmath cstdarg cstddef cstdint cstdio cstdlib cstring "
    "ctime".split()
)

# Words for which the needed items may rely on a C++ header that a missing one includes.
_BROUGHT = re.compile(
    r"std|u?int\w*_t|size_t|uint|ushort|INFINITY|NAN|HUGE_VAL\w*|"
    r"(?:FLT|DBL|LDBL|U?CHAR|SCHAR|U?SHRT|U?INT\d*|U?LONG|U?LLONG|SIZE|M)_[A-Z0-9_]+"
)
STAND_INS = Path(__file__).parent / "stand_ins"  # headers in place of missing ones


@dataclass(frozen=True)
class Excerpt:
    """The needed part of a kernel's files."""

    texts: Mapping[Path, str]  # the kernel's file and the included ones, by their resolved paths
    headers: frozenset[str]  # missing headers, whose #include was blanked
    host: frozenset[str]  # omitted functions and variables of the host
    conditional: frozenset[str]  # those of the missing headers that an #if may exclude
    quoted: frozenset[str]  # those of the missing headers that are included by "..."

    @property
    def without(self) -> str:
        """That certain headers are missing, as in `Binary.omitted`."""
        return without(self.headers - self.conditional)


def excerpt(source: Source, has_header: Callable[[str], bool]) -> Excerpt | None:
    """Extract what a kernel needs; `None` if only a preprocessor could tell.

    `has_header` tells whether a header of a name can be included.
    """
    files = dict(parsed_files(source))
    items = [item for file in files.values() for item in file.items]
    if any(item.kind is ItemKind.INCLUDE and not item.path for item in items):
        return None  # a macro names what is included
    declared = _names(item for item in items if item.kind not in _HOST_ONLY)
    if not declared.issuperset(map(unqualified, source.functions)):
        return None
    whole = _complete(source, files, has_header)
    needed = needed_items(source, {path: file for path, file in files.items() if path not in whole})
    needed |= {path: set(files[path].items) for path in whole}
    items_needed = [item for items in needed.values() for item in items]
    words = {word for item in items_needed if item.kind is not ItemKind.USING for word in item.free_names}
    macros = {word for item in items if item.is_macro for word in item.free_names}
    texts, missing, certain, quoted = {}, set(), set(), set()
    for path, file in files.items():
        omitted = (i for i in file.items if i not in needed[path] and not i.is_macro)
        edits = {i: b"" for i in omitted if i.kind is not ItemKind.INCLUDE}
        for item in file.items:
            if item.kind is ItemKind.INCLUDE and not _find(item.path, path, source, quoted=item.quoted):
                if not has_header(item.path):
                    missing.add(item.path)
                    quoted |= {item.path} if item.quoted else set()
                    certain |= set() if item.conditional else {item.path}
                    edits[item] = _stand_in(item.path, words | macros)
                elif item.path.isidentifier() and item.path not in _GLOBAL_NAME_HEADERS and "std" not in words:
                    edits[item] = b""
        texts[path] = _edited(file, edits, () if path in whole else host_members(needed[path] - edits.keys()))
    host = _names(item for item in items if item.kind is ItemKind.HOST)
    left_out, perhaps = frozenset(host - _names(items_needed)), frozenset(missing - certain)
    return Excerpt(texts, frozenset(missing), left_out, perhaps, frozenset(quoted))


def listed(headers: Iterable[str]) -> str:
    """Headers, for messages."""
    return ", ".join(f"<{name}>" for name in sorted(headers))


def without(headers: Collection[str]) -> str:
    """That headers are missing, as in `Binary.omitted`; empty if none is."""
    return f"compiled without {listed(headers)}, which {'are' if len(headers) > 1 else 'is'} missing" if headers else ""


def stand_ins() -> tuple[str, ...]:
    """The contents of the headers in place of missing ones, for the keys of caches."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(STAND_INS.iterdir()))


def _stand_in(missing: str, words: Collection[str]) -> bytes:
    """The #include in place of that of a missing header, by the words of the needed items; empty if they need none."""
    if missing.startswith(("torch/", "ATen/", "c10/")):
        return b"#include <stand_in_torch.h>"
    if any("half" in word or "bfloat16" in word for word in words):
        return b"#include <stand_in_halves.h>"
    return b"#include <stand_in_names.h>" if any(map(_BROUGHT.fullmatch, words)) else b""


def parsed_files(source: Source) -> Iterator[tuple[Path, File]]:
    """The kernel's file and the files that it includes, except system headers, parsed, each once."""
    own = source.path.resolve()
    texts = {own: source.text}
    texts |= {path: cache.read(path) for path in cache.includes(source.text, source.folders) if path != own}
    try:
        alone = {path: parse(text) for path, text in texts.items()}
    except UsageError as e:
        raise CompileError(f"{source.path.name}, or a file that it includes, is {e}") from None
    qualifying = qualifiers({name: body for file in alone.values() for name, body in file.macros.items()})
    for path, file in alone.items():
        used = qualifying.keys() & set(WORD.findall(texts[path])) - file.macros.keys() if qualifying else ()
        yield path, parse(texts[path], frozenset((name, qualifying[name]) for name in used)) if used else file


def explain_missing(source: Source, function: str, reason: str) -> str:
    """Why a function cannot be launched, with the available kernels; `reason` is the compiler's message."""
    declared = [k for _, file in parsed_files(source) for k in file.kernels]
    kernels = [k for k in declared if k.has_body]
    names = f"its kernels are {', '.join(dict.fromkeys(map(str, kernels)))}" if kernels else "it has no other"
    name = re.split(r"[<(]", function)[0].strip().removeprefix("::")
    named = [k for k in kernels if k.name == name]
    if not named:
        return f"has no __global__ function '{function}'; {names}"
    if named[0].template and "<" not in function:
        templates = ", ".join(map(str, named))
        return f"'{name}' is a template; add its template arguments to 'function' in the YAML: {templates}"
    types = (", ".join(p.type + "*" * p.pointers for p in k.parameters) for k in declared if k.name == name)
    if len(overloads := dict.fromkeys(f"{name}({names})" for names in types)) > 1:  # one may be declared alone
        return f"which '{name}'? Name one by its parameters, too: {', '.join(overloads)}"
    is_plain = function.removeprefix("::") == name
    if is_plain and overloads and re.search("unable to deduce|overloaded", reason):  # as `index` of the C library
        return f"'{name}' is the name of a host function, too; write function: \"{next(iter(overloads))}\" in the YAML"
    if re.search("incomplete type|implicit instantiation of undefined", reason):
        return f"'{function}' must return void, and have a name that no function of the C library has"
    if re.search("not declared|undeclared|undefined", reason) and not named[0].template:
        return f"an #if leaves the function '{function}' out"
    return f"'{function}' cannot be launched: {reason}; {names}"


def missing_function(source: Source) -> str:
    """The first function whose name the files lack, and which no macro can create; empty if all are found."""
    files = [file for _, file in parsed_files(source)]
    if any(file.makes_names for file in files):
        return ""
    words = ((f, re.compile(rb"\b%s\b" % re.escape(unqualified(f).encode()))) for f in source.functions)
    return next((f for f, word in words if not any(word.search(file.content) for file in files)), "")


def system_headers(source: Source, texts: Mapping[Path, str]) -> list[str]:
    """The unconditional `#include <...>` headers in order; `texts` replace the contents of some files."""
    files = [parse(texts[path]) if path in texts else file for path, file in parsed_files(source)]
    includes = (i for file in files for i in file.items if i.kind is ItemKind.INCLUDE and not i.conditional)
    paths = (i.path for i in includes if i.path and not i.quoted)
    return list(dict.fromkeys(p for p in paths if not _find(p, source.path, source, quoted=False)))


def _find(name: str, includer: Path, source: Source, *, quoted: bool = True) -> Path | None:
    return cache.find(name, includer.parent, source.folders, quoted=quoted)


def _names(items: Iterable[Item]) -> set[str]:
    return {name for item in items for name in item.names}


def _complete(source: Source, files: Mapping[Path, File], has_header: Callable[[str], bool]) -> set[Path]:
    """The files of libraries, included by `<...>`, that lack no header: they are compiled as they are."""
    includes = {
        path: [(i, _find(i.path, path, source, quoted=i.quoted)) for i in file.items if i.kind is ItemKind.INCLUDE]
        for path, file in files.items()
    }
    lacking = {
        path
        for path, found in includes.items()
        if any(not to and not i.conditional and not has_header(i.path) for i, to in found)
    }
    complete: set[Path] = set()
    for first in {to for found in includes.values() for i, to in found if to and to in files and not i.quoted}:
        library, waiting = set[Path](), {first}
        while waiting:
            library |= waiting
            waiting = {to for path in waiting for _, to in includes[path] if to and to in files} - library
        complete |= library if library.isdisjoint(lacking) else set()
    return complete


def needed_items(source: Source, files: Mapping[Path, File]) -> dict[Path, set[Item]]:
    """The needed items of each file, by its resolved path."""
    names = set(WORD.findall(" ".join(source.functions))) | set(source.constants)
    names |= {word for _, value in source.macros for word in WORD.findall(value)} | {"operator"}
    needed: dict[Path, set[Item]] = {path: set() for path in files}
    declaring: dict[str, list[tuple[Path, Item]]] = {}
    for path, file in files.items():
        for item in file.items:
            # `using`, and all items of a file that the parser could not divide.
            if item.kind is ItemKind.USING or not (file.is_sound or item.kind in (*_HOST_ONLY, ItemKind.INCLUDE)):
                needed[path].add(item)
                names |= _mentioned(item, path, source, files)
            elif item.kind not in _HOST_ONLY:
                for name in item.names:
                    declaring.setdefault(name, []).append((path, item))
    while names:
        entries = {entry for name in names for entry in declaring.pop(name, ())}
        entries = {(path, item) for path, item in entries if item not in needed[path]}
        for path, item in entries:
            needed[path].add(item)
        names = {word for path, item in entries for word in _mentioned(item, path, source, files)}
    omitted = {i for path, file in files.items() for i in file.items if i not in needed[path]}
    missing = _names(omitted) - _names(i for items in needed.values() for i in items)
    for path, file in files.items():
        needed[path] |= {i for i in file.items if i.kind is ItemKind.ASSERTION and not i.free_names & missing}
    return needed


def _mentioned(item: Item, path: Path, source: Source, files: Mapping[Path, File]) -> set[str]:
    """The names that an item mentions, with all names of a file included within it, such as a table."""
    included = [file for name in item.includes if (file := _find(name, path, source))]
    return set(item.free_names) | {w for f in included for w in WORD.findall(files[f].content.decode(errors="replace"))}


def _edited(file: File, replacements: Mapping[Item, bytes], omitted: Iterable[tuple[int, int]]) -> str:
    """The text with some items replaced, and padded with blanks; `omitted` are ranges of bytes."""
    edits = [(begin, end, blank(file.content[begin:end])) for begin, end in omitted]
    edits += [(i.begin, i.end, new + blank(file.content[i.begin : i.end])) for i, new in replacements.items()]
    aliases = _names(i for i in file.items if i.node.type == "namespace_alias_definition")
    for item in file.items:
        # The namespace may be defined in a missing header or in an omitted part, so it is declared.
        name = re.match(rb"using\s+namespace\s+(?:::)?([\w:]+)", file.content[item.begin : item.end])
        if item.kind is ItemKind.USING and name and name[1].decode() not in aliases:
            edits.append((item.begin, item.begin, b"namespace %s {} " % name[1]))
    content = bytearray(file.content)
    for begin, end, text in sorted(edits, reverse=True):
        content[begin:end] = text
    return content.decode(errors="surrogateescape")
