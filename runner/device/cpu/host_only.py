"""Functions and types of the host, which nvcc refuses in device code.

The host's compiler would take them, so a kernel with `std::min` would pass here and not compile for a GPU. In the
bodies of `__global__` and `__device__` functions their names are replaced by names that do not exist. The compiler
reports only what survives the kernel's own #ifdefs, at its line, and `build.py` says what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.device.syntax import device_functions, parse

MARK = "simt_host_only_"  # before the name of what nvcc refuses

# Of namespace std, nvcc takes traits, std::move, std::forward and mathematical functions; of these it takes none.
_STANDARD = """
min max minmax clamp swap exchange sort stable_sort partial_sort nth_element accumulate reduce inner_product iota fill
fill_n copy copy_n copy_if move_backward transform for_each find find_if count count_if reverse rotate unique remove
remove_if lower_bound upper_bound binary_search equal_range min_element max_element minmax_element all_of any_of none_of
equal merge partition shuffle generate gcd lcm partial_sum adjacent_difference inclusive_scan exclusive_scan is_sorted
next_permutation prev_permutation begin end size data distance advance next prev
vector string map multimap set multiset unordered_map unordered_set deque list forward_list stack queue priority_queue
make_pair make_tuple tie get function bind thread mutex unique_ptr shared_ptr make_unique make_shared to_string stoi
stof stringstream ostringstream cout cerr clog cin endl getline random_device mt19937 rand srand qsort getenv system
puts putchar fprintf strlen strcmp strcpy calloc realloc
""".split()
_OF_C = """
rand srand random qsort getenv system atoi atof strtol puts putchar fopen fprintf strlen strcmp strcpy calloc realloc
""".split()

_QUALIFIED = re.compile(rf"(?<!cuda::)\bstd\s*::\s*(?P<name>{'|'.join(_STANDARD)})\b")
_LIMITS = re.compile(
    r"(?<!cuda::)\bstd\s*::\s*numeric_limits\s*<[^;(){}]*>\s*::\s*"
    r"(?P<name>min|max|lowest|epsilon|infinity|quiet_NaN|signaling_NaN|denorm_min|round_error)\b(?=\s*\()"
)
_PLAIN = re.compile(rf"(?<![\w.:>])(?:::\s*)?(?P<name>{'|'.join(_OF_C)})\b(?=\s*\()")
# What a text defines itself: a macro, a function or a variable.
_DEFINED = re.compile(
    rf"#\s*define\s+(?P<macro>\w+)|\b(?!return|else|do|case)\w+[\s*&]+(?P<name>{'|'.join(_OF_C)})\s*"
    r"(?:[=,;){]|\([^;{}()]*\)\s*{)"
)
_FUNCTION = re.compile(r"\b__(?:global|device)__\b")


def mark_host_only(text: str, visible: str) -> str:
    """Mark what nvcc refuses in device code; `visible` is the text with blank comments and literals."""
    if not _FUNCTION.search(visible):
        return text
    own = {found["macro"] or found["name"] for found in _DEFINED.finditer(visible)}
    places = []
    for begin, end in _bodies(text):
        for pattern in (_QUALIFIED, _LIMITS, _PLAIN):
            found = pattern.finditer(visible, begin, end)
            places += [f.start("name") for f in found if pattern is not _PLAIN or f["name"] not in own]
    pieces, end = [], 0
    for place in sorted(set(places)):
        pieces += [text[end:place], MARK]
        end = place
    return "".join(pieces) + text[end:]


def _bodies(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of the body of each function that runs on the device only.

    nvcc warns of a `__host__ __device__` function that calls one of the host, and goes on.
    """
    file = parse(text)
    for function in device_functions(file):
        if body := function.child_by_field_name("body"):
            begin, end = (len(file.content[:at].decode(errors="replace")) for at in (body.start_byte, body.end_byte))
            yield begin, end
