"""docs/kernels.md: current, complete, and made of what the kernels say."""

import dataclasses
import re
import shutil
import sys

import pytest
from support import KERNELS, ROOT, shipped

sys.path.insert(0, str(ROOT / "tools"))

import kernels_page
from kernel_page import header
from kernel_page.memory import ranges
from kernel_page.pictures import STEPS, Studio

from runner.kernel.declaration import NEUTRAL

TEXT = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^###? |\Z)", TEXT, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def files():
    """What the command would write."""
    return kernels_page.made()


def test_the_page_is_what_the_command_would_write(files):
    """Nobody changed a kernel without the page, or the page by hand; it has its pictures and no other."""
    assert files[kernels_page.PAGE].decode() == TEXT, "run 'make kernels-page'"
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
    assert sorted(path for path in files if path.suffix == ".svg") == pictures


def test_pictures_are_svg_on_white_with_text_as_text(files):
    """They can be read on a dark page, searched, and loaded quickly."""
    drawn = {path.stem: content for path, content in files.items() if path.suffix == ".svg"}
    own = [stem for stem in drawn if stem not in STEPS and not stem.startswith("shfl")]
    for stem in own:
        assert len(drawn[stem]) < 60_000, stem
        assert b'fill="#fff"/>' in drawn[stem], stem
        assert b"<text " in drawn[stem], stem


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_has_its_section(name):
    """A section has the formula, the parameters with their defaults, the sources and a picture; a race has its message.

    A kernel that is there to be searched has no picture, because it has no one idea.
    """
    kernel, section = shipped(name), SECTIONS[name]
    assert f"```text\n{header.read(kernel.source).formula}\n```" in section
    told = re.search(r"^- Parameters: (.*)$", section, re.MULTILINE)[1]
    assert {p.name for p in kernel.parameters if p.name not in NEUTRAL} <= set(re.findall(r"`(\w+)=", told))
    assert f"(../kernels/{name}.cu)" in section
    assert f"(../conf/kernel/{name}.yaml)" in section
    shown = re.search(r"!\[[^\]]{20,}\]\(pictures/\w+\.svg\)|^See the picture of \[(\w+)\]", section, re.MULTILINE)
    if kernel.family == "race":
        assert f"> `{name}.cu:" in section
        return
    if kernel.family == "matmul":
        return
    assert shown
    assert not shown[1] or "](pictures/" in SECTIONS[shown[1]]


def test_every_kernel_and_experiment_is_listed():
    """The table of families links each kernel, that of experiments each experiment except aliases."""
    families, _, experiments = TEXT.partition("\n## Experiments\n")
    listed = re.findall(r"\[(\w+)\]\(#\w+\)", families.partition("|---|---|")[2])
    assert set(KERNELS) <= set(listed)
    for path in (ROOT / "conf" / "experiment").glob("*.yaml"):
        alias = path.stem == "seed_reductions"
        assert (f"[{path.stem}](../conf/experiment/{path.name})" in experiments) != alias


def test_a_new_kernel_gets_a_section(tmp_path):
    """A kernel of an unknown family, without a rule for its picture, comes last and has no picture."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    (tmp_path / "kernels" / "newest.cu").write_text(
        "// newest: out[i] = a_b * in[i] *twice*.\n//\n"
        "// New against bcast: all | lanes __shfl_sync.\n// Macros: BLOCK threads per block.\n// Constraints: none.\n\n"
    )
    (tmp_path / "conf" / "kernel" / "newest.yaml").write_text(
        "source: ../../kernels/newest.cu\nfamily: quite_new\nparameters:\n  block: 64\n  size: 1Ki\n"
        "macros: {BLOCK: block}\narguments: [{name: out, role: out, dtype: int32, shape: size}]\ngrid: 1\n"
        "reference: {out: arange(size)}\n"
    )
    files = kernels_page.made(tmp_path / "conf", tmp_path / "docs" / "kernels.md")
    text = files[tmp_path / "docs" / "kernels.md"].decode()
    section = text.partition("\n## Quite new\n")[2].partition("### newest\n")[2]
    assert "```text\nout[i] = a_b * in[i] *twice*.\n```" in section
    assert "**New against [bcast](#bcast):** All | lanes `__shfl_sync`." in section
    assert "`block=64` (threads per block), `size=2**10`" in section
    assert "picture" not in section


def test_a_kernel_for_gpus_only_is_not_run():
    """A picture that would have to be measured on the CPU device is not made."""
    studio, kernel = Studio({}), shipped("shflUp")
    assert studio.picture(dataclasses.replace(kernel, gpu_only="it is inline PTX")) is None
    assert studio.picture(kernel) is not None


def test_the_check_names_what_is_not_current(monkeypatch, tmp_path, capsys):
    """A file that differs, one that is missing and one too many: one sentence, exit status 1, nothing written."""
    docs = tmp_path / "docs"
    (docs / "pictures").mkdir(parents=True)
    (docs / "kernels.md").write_text("by hand")
    (docs / "pictures" / "older.svg").write_text("")
    (docs / "pictures" / "good.svg").write_text("good")
    made = {docs / "kernels.md": b"", docs / "pictures" / "new.svg": b"", docs / "pictures" / "good.svg": b"good"}
    monkeypatch.setattr(kernels_page, "ROOT", tmp_path)
    monkeypatch.setattr(kernels_page, "PAGE", docs / "kernels.md")
    monkeypatch.setattr(kernels_page, "made", lambda: made)
    monkeypatch.setattr(sys, "argv", ["kernels_page.py", "--check"])
    assert kernels_page.main() == 1
    assert "docs/kernels.md, docs/pictures/new.svg, docs/pictures/older.svg." in capsys.readouterr().err
    assert (docs / "kernels.md").read_text() == "by hand"
    monkeypatch.setattr(sys, "argv", ["kernels_page.py"])
    assert kernels_page.main() == 0
    assert sorted(path.name for path in docs.rglob("*.*")) == ["good.svg", "kernels.md", "new.svg"]


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


def test_runs_of_numbers_are_shortened():
    """As people write them."""
    assert ranges([0, 1, 2, 3, 16]) == "0-3, 16"
    assert ranges(range(1, 32, 2)) == "1, 3, ... 31"


def test_a_header_without_its_parts_is_refused(tmp_path):
    """The sentence names the file."""
    source = tmp_path / "mine.cu"
    for text in ("// mine computes\n\n", "// mine: out[i] = i.\n//\n// Macros: none.\n\n"):
        source.write_text(text)
        with pytest.raises(ValueError, match=r"^mine\.cu: the header has no "):
            header.read(source)
