"""Programs of several launches: timed as one, checked at the end."""

import re

import pytest
from outcomes import altered, refusal
from support import ROOT, case_of, read_kernel

FOLDER = ROOT / "tests" / "kernels" / "launches"


@pytest.mark.parametrize(("name", "launches"), [("twoPasses", 2), ("scanWithFixUp", 3), ("pingPong", 4)])
def test_a_program_of_several_launches_is_right(bench, name, launches):
    """Each launch has its function, its arguments and its grid; what the last one leaves is checked at each sample."""
    case = case_of(read_kernel(FOLDER / f"{name}.yaml"))
    assert len(case.launches) == launches
    outcome = bench.run(case)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert outcome.measured.checked >= 3


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        (
            "twoPasses",
            "[partial, out, blocks], grid: 1",
            "[partial, out, blocks], grid: 2",
            "out-of-bounds write of 'out'|wrote outside",
        ),
        ("scanWithFixUp", '  - {function: "fixed', '#  - {function: "fixed', "elements differ"),
        ("pingPong", "twice: 2", "twice: 1", "elements differ"),
    ],
)
def test_a_launch_that_is_missing_or_wrong_is_found(bench, tmp_path, name, old, new, found):
    """A step less, or one too far."""
    sentence = refusal(bench, altered(FOLDER / f"{name}.yaml", tmp_path, (old, new)))
    assert re.search(found, sentence), sentence


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("arguments: [data", "arguments: [date", r"launches\[0\]: arguments: 'date' is not an argument; allowed: data, sums"),
        ('function: "fixed', 'kernel: "fixed', r"launches\[2\]: 'kernel' is not a valid key"),
        ('function: "fixed::addBefore<int, block>"', "function: add-before", r"launches\[2\]: function: 'add-before' is not the name of a function"),
        ('function: "fixed::addBefore<int, block>"', "function: addAfter", "addAfter"),
        ("grid: ceil_div(size, block)\n", "", r"launches\[0\]: the key 'grid' is missing"),
        ("shared: 4 * block, grid: 1", "shared: 4 * block, grid: 0", "a grid of 0 blocks in x"),
        ("shared: 4 * block, grid: 1", "shared: 4 * block, grid: 1, block: 2048", "a block of 2048 threads"),
        ('- {function: "fixed', '- {for: {size: 2}, function: "fixed', "launches: 'size' is already the name of"),
        ('- {function: "fixed', '- {for: {i: 20000}, function: "fixed', "there would be more than 10000 launches"),
        ('- {function: "fixed', '- {for: {i: j}, function: "fixed', "names 'j', which is not a parameter"),
        ("arguments: [data, sums, counted, n]", "arguments: [data]", "the kernel takes 4 arguments"),
    ],
)  # fmt: skip
def test_a_mistake_in_launches_is_one_sentence(bench, tmp_path, old, new, message):
    """It names the entry, the offending value, and what is allowed."""
    if "takes 4" in message and bench.device.info.kind != "cpu":
        pytest.skip("a GPU does not know a kernel's parameters")
    sentence = refusal(bench, altered(FOLDER / "scanWithFixUp.yaml", tmp_path, (old, new)))
    assert re.search(message, sentence), sentence
