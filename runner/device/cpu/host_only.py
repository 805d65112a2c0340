"""Mark what nvcc refuses in device code: functions and types of the host.

The host's compiler would take them, so a kernel with `std::min` would pass here and not compile for a GPU. In the
bodies of `__global__` and `__device__` functions their names are replaced by names that do not exist. The compiler
reports only what survives the kernel's own #ifdefs, at its line, and `compile_errors.py` explains it.
"""

from __future__ import annotations

import re

from runner.device.cpu.ptx import edited
from runner.device.syntax import device_functions, parse

MARK = "simt_host_only_"  # before a name that nvcc refuses

# Of namespace std, nvcc takes traits, std::move, std::forward and mathematical functions; of these it takes none.
_STD_NAMES = """
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
# With --expt-relaxed-constexpr it takes those that C++17 has as constexpr, and std::numeric_limits.
_CONSTEXPR = """
min max minmax clamp gcd lcm begin end size data distance advance next prev get make_pair make_tuple tie
""".split()
_C_FUNCTIONS = """
rand srand random qsort getenv system atoi atof strtol puts putchar fopen fprintf strlen strcmp strcpy calloc realloc
""".split()

_LIMITS = "min max lowest epsilon infinity quiet_NaN signaling_NaN denorm_min round_error".split()
RELAXED = frozenset((*_CONSTEXPR, *_LIMITS))

_STD_NAME = re.compile(rf"(?<!cuda::)\bstd\s*::\s*(?P<name>{'|'.join(_STD_NAMES)})\b")
_NUMERIC_LIMIT = re.compile(
    rf"(?<!cuda::)\bstd\s*::\s*numeric_limits\s*<[^;(){{}}]*>\s*::\s*(?P<name>{'|'.join(_LIMITS)})\b(?=\s*\()"
)
_C_CALL = re.compile(rf"(?<![\w.:>])(?:::\s*)?(?P<name>{'|'.join(_C_FUNCTIONS)})\b(?=\s*\()")
# The macros, functions and variables that a text defines itself.
_DEFINITION = re.compile(
    rf"#\s*define\s+(?P<macro>\w+)|\b(?!return|else|do|case)\w+[\s*&]+(?P<name>{'|'.join(_C_FUNCTIONS)})\s*"
    r"(?:[=,;){]|\([^;{}()]*\)\s*{)"
)
_DEVICE_CODE = re.compile(r"\b__(?:global|device)__\b")


def mark_host_only(text: str, visible: str, *, relaxed: bool = False) -> str:
    """Mark names that nvcc refuses in device code; `visible` is the text with blank comments and literals.

    `relaxed` leaves constexpr functions alone, as nvcc's --expt-relaxed-constexpr does.
    """
    if not _DEVICE_CODE.search(visible):
        return text
    own = {m["macro"] or m["name"] for m in _DEFINITION.finditer(visible)}
    places, file, taken = set(), parse(text), RELAXED if relaxed else frozenset()
    # nvcc warns of a `__host__ __device__` function that calls one of the host, and goes on.
    for body in (function.child_by_field_name("body") for function in device_functions(file)):
        if body is not None:
            begin, end = file.place(body.start_byte), file.place(body.end_byte)
            for pattern in (_STD_NAME, _NUMERIC_LIMIT, _C_CALL):
                names = pattern.finditer(visible, begin, end)
                excluded = own if pattern is _C_CALL else taken
                places |= {m.start("name") for m in names if m["name"] not in excluded}
    return edited(text, ((place, place, MARK) for place in sorted(places)))
