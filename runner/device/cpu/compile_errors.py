"""Explains compiler errors: the line of the kernel, and features that the CPU device lacks."""

from __future__ import annotations

import re
from pathlib import Path

from runner.device import Source, cache, options
from runner.device.cpu.host_only import MARK, RELAXED
from runner.device.cpu.translate import WRAPPER, is_ours
from runner.device.excerpt import Excerpt, explain_missing, listed, parsed_files
from runner.device.syntax import ItemKind
from runner.errors import CompileError

_ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_UNRESOLVED = re.compile(r"undefined reference to [`'](?P<name>[^']+)'|undefined symbol: (?P<other>\S+)")
_INSTANTIATION = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):\d+: (?:  required from here|note: in instantiation of )", re.MULTILINE
)
_LOCATION = re.compile(r"^(?:In file included from|\s+from) |^(?P<file>[^\s:][^\n:]*):\d+")
_POISONED = re.compile(r"poisoned \"?'?(?:asm|__asm__)|poisoned identifier")
_UNDECLARED = re.compile(r"'(?P<name>\w+)' was not declared|undeclared identifier '(?P<other>\w+)'")
_UNKNOWN = re.compile(
    r"declared|declaration of|does not name a type|not a member|no member|not a namespace|no type named|unknown type|"
    r"not a template|expected namespace|no match for"
)
_HOST_ONLY = re.compile(rf"{MARK}(\w+)")
_NO_HEADER = re.compile(r"'?(?:cu|thrust/|cooperative_|nv|mma)[\w./]*'?(?:: No such file| file not found)")
_NO_PTX = "inline PTX cannot run on the CPU device"

# The text of g++ before the message of the attribute `error`.
_ATTRIBUTE_ERROR = re.compile(r"^call to '.*?' declared with attribute error: ")

_LAUNCH, _LAUNCHES = "a kernel launches another one", "launches from a kernel"
_EXPECTED = re.compile(r"expected (?:primary-)?expression")

ADVICE = "set gpu_only: REASON in the kernel's YAML to run it only on GPUs"

# Names in a compiler's message and the features that they belong to, in the order of search.
_QUALIFIED = r"'(?:struct |class )?(?:\w+::)*"
_UNSUPPORTED = [(re.compile(rf"{_QUALIFIED}{name}(?:<[^']*>)?(?: \w+)?'"), feature) for name, feature in (
    (r"(?:tex[123]D\w+|texCubemap\w*)", "layered, cubemap and mipmapped textures"),
    (r"surf(?:[123]D\w+|Cubemap\w*)", "layered and cubemap surfaces"),
    (r"(?:__cluster\w*|cluster_group|this_cluster|__cluster_dims__)", "clusters of blocks"),
    (r"__is(?:Global|Shared|Local|Constant|GridConstant|ClusterShared|CtaShared)", "address spaces"),
    (r"(?:curandState(?:MRG32k3a|Mtgp32|Sobol|Scrambled)\w*|curand_(?:poisson|discrete)\w*)", "this part of cuRAND"),
    (r"(?:bmma_sync|experimental)", "wmma's int4 and single bits"),
    (r"__u128Atomic\w+", "these atomics"),
    (r"(?:cudaGraph\w+|cudaLaunchDevice\w*|cudaStream\w+|cudaEvent\w+)", _LAUNCHES),
)]  # fmt: skip
_CUB_NAME = re.compile(
    r"'(?P<name>\w+)' (?:is not a member of|in namespace|was not declared).*'(?:::)?cub'|"
    r"no (?:member|template|type) named '(?P<other>\w+)' in namespace 'cub'|'cub::(?P<third>\w+)' has not been declared"
)


class HostOnly(CompileError):
    """The kernel uses a function or type of the host."""


def explain(source: Source, log: str, needed: Excerpt | None) -> CompileError:
    """The error for a kernel that does not compile; `needed` is the compiled part of its files (`None`: all)."""
    errors = list(_ERROR.finditer(log))
    if _POISONED.search(log):
        log = f"{log.rstrip()}\n{_NO_PTX}\n"
    fails = f"{source.path} does not compile"
    for error in errors:
        if marked := _HOST_ONLY.search(error["text"]):
            relaxing = f" without compile_options={options.RELAXED}" * (marked[1] in RELAXED)
            text = f"a kernel cannot call '{marked[1]}', a function of the host (nvcc refuses it{relaxing})"
            return HostOnly(f"{fails}: {error['file']}:{error['line']}: {text}", log.replace(MARK, ""))
    if first := next(filter(_is_users, errors), None):
        text = _text_of(source, first)
        where, log = f"{fails}: {first['file']}:{first['line']}", _without_noise(log, first.group())
        if needed and (reason := _host_name(source, first["text"], needed)):
            return HostOnly(f"{where}: {reason}", log)
        hint = _excluded_name(source, first["text"]) or _missing_feature(text, needed)
        return CompileError(f"{where}: {text}{hint}", log)
    users = list(filter(_is_users, _INSTANTIATION.finditer(log)))
    if users and errors and is_ours(errors[0]["file"]):  # an assertion of a header of ours, about the kernel's types
        return CompileError(f"{fails}: {users[0]['file']}:{users[0]['line']}: {errors[0]['text']}", log)
    if wrapped := next((e for e in errors if e["file"] == WRAPPER), None):
        return CompileError(f"{source.path}: {_explain_wrapper_error(source, log, wrapped)}", log)
    if unresolved := _UNRESOLVED.search(log):
        name = unresolved["name"] or unresolved["other"]
        if host := re.match(r"(?:cudaError_t )?(cuda\w+)", name):
            return HostOnly(f"{fails}: a kernel cannot call '{host[1]}', a function of the host (nvcc refuses it)", log)
        return CompileError(f"{source.path} does not link: '{name}' is declared, but defined nowhere", log)
    first_line = errors[0]["text"] if errors else (log.strip().splitlines() or ["the compiler gave no reason"])[0]
    return CompileError(f"{fails}: {first_line}", log)


def _is_users(location: re.Match[str]) -> bool:
    return location["file"] != WRAPPER and not is_ours(location["file"])


def _text_of(source: Source, error: re.Match[str]) -> str:
    """The message of an error. The compiler does not know what `<<<` means."""
    if _EXPECTED.match(error["text"]):
        own = error["file"] in (str(source.path), str(source.path.resolve()))
        lines = (source.text if own else cache.read(Path(error["file"]))).split("\n")
        if "<<<" in "".join(lines[int(error["line"]) - 1 : int(error["line"])]):
            return _LAUNCH
    return _ATTRIBUTE_ERROR.sub("", error["text"])


def _host_name(source: Source, error: str, needed: Excerpt) -> str:
    """Why a name of the host is undeclared in a kernel; empty for any other error."""
    undeclared = _UNDECLARED.search(error)
    name = (undeclared["name"] or undeclared["other"]) if undeclared else ""
    if name not in needed.host:
        return ""
    if re.search(rf"\b(?:texture|surface)\s*<[^;]*>\s*{name}\b", source.text):
        return f"'{name}' is a texture reference; CUDA 12 only has texture objects"
    return f"a kernel cannot use '{name}', which only the host has (nvcc refuses it)"


def _excluded_name(source: Source, error: str) -> str:
    """That an undeclared name is one of the files' own, which only an #if can hide; empty for any other error."""
    undeclared = _UNDECLARED.search(error)
    name = (undeclared["name"] or undeclared["other"]) if undeclared else ""
    for path, file in parsed_files(source):
        if any(name in item.names and item.conditional and item.kind is ItemKind.DEVICE for item in file.items):
            return f" (an #if of {path.name} leaves it out; define the macro that it tests, under 'macros')"
    return ""


def _missing_feature(error: str, needed: Excerpt | None) -> str:
    """A note on a compiler's error that is due to a feature that the CPU device lacks; empty for any other error."""
    if _POISONED.search(error):
        return f" ({_NO_PTX}; {ADVICE})"
    if needed and _UNKNOWN.search(error) and (missing := needed.headers - needed.conditional):
        if own := missing & needed.quoted:
            return f" ({listed(own)} missing; name the folder that has it under 'include')"
        feature = listed(missing)
    elif _NO_HEADER.match(error):
        feature = "it"
    elif error == _LAUNCH:
        feature = _LAUNCHES
    elif cub := _CUB_NAME.search(error):
        feature = f"cub::{cub['name'] or cub['other'] or cub['third']}"
    else:
        feature = next((feature for pattern, feature in _UNSUPPORTED if pattern.search(error)), "")
    return f" (the CPU device lacks {feature}; {ADVICE})" if feature else ""


def _explain_wrapper_error(source: Source, log: str, error: re.Match[str]) -> str:
    """Explain an error in the generated wrapper, such as a variable that the YAML names and the source lacks."""
    for name in source.constants:
        if re.search(rf"'{name}' (?:was not|has not been) declared|undeclared identifier '{name}'", log):
            return f"has no __constant__ or __device__ variable '{name}'"
    number = int(error["line"]) - 1  # the first lines name the functions
    function = source.functions[number] if number < len(source.functions) else source.function
    return explain_missing(source, function, error["text"])


def _without_noise(log: str, first_error: str) -> str:
    """The log with its first error on top and without notes that point into the shim."""
    lines, skipping = [], False
    for line in log.splitlines():
        if location := _LOCATION.match(line):
            skipping = is_ours(location["file"] or "") and " error:" not in line
        if not skipping:
            lines.append(line)
    body = "\n".join(lines)
    return f"{body}\n" if body.startswith(first_error) else f"{first_error}\n\n{body}\n"
