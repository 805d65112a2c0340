"""docs/kernels.md: current, complete, and made of what the kernels say."""

import sys

import pytest
from support import ROOT, shipped

sys.path.insert(0, str(ROOT / "tools"))

import kernels_page
from kernel_page import header
from kernel_page.pictures import STEPS, Studio

TEXT = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def files():
    """What the command would write."""
    return kernels_page.made()


def test_the_page_is_what_the_command_would_write(files):
    """Nobody changed a kernel without the page, or the page by hand; it has its pictures and no other."""
    assert files[kernels_page.PAGE].decode() == TEXT, "run 'make kernels-page'"
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
    assert sorted(path for path in files if path.suffix == ".svg") == pictures


@pytest.mark.parametrize("stem", STEPS)
def test_the_steps_are_those_that_the_device_takes(stem):
    """Butterfly and tree end with the sum of all, the scan with that of a segment's earlier lanes: added up as drawn."""
    _, shuffle, cases = STEPS[stem]
    studio, kernel = Studio({}), shipped(shuffle)
    sums = [{lane} for lane in range(32)]
    for given in cases:
        got = [int(word) for word in studio.measured(kernel, given)["received"].split()]
        sums = [sums[i] | sums[source] for i, source in enumerate(got)]
    whole = set(range(32))
    expected = {
        "butterfly": [whole] * 32,
        "tree": [whole],
        "scan": [set(range(lane - lane % 8, lane + 1)) for lane in range(32)],
        "broadcast": [{0, lane} for lane in range(32)],
    }[stem]
    assert sums[: len(expected)] == expected


def test_a_header_without_its_parts_is_refused(tmp_path):
    """The sentence names the file."""
    source = tmp_path / "mine.cu"
    for text in ("// mine computes\n\n", "// mine: out[i] = i.\n//\n// Macros: none.\n\n"):
        source.write_text(text)
        with pytest.raises(ValueError, match=r"^mine\.cu: the header has no "):
            header.read(source)
