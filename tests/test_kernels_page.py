"""docs/kernels.md: current, complete, and made of what the kernels say."""

import re
import shutil
import subprocess
import sys

import pytest
from support import KERNELS, ROOT, read_kernel, shipped

sys.path.insert(0, str(ROOT / "tools"))

import generated
import kernels_page
from kernel_page import drawings, header, sections, words
from kernel_page.pictures import STEPS, WAITING, Studio

PAGE = ROOT / "docs" / "kernels.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^###? |\Z)", TEXT, re.MULTILINE | re.DOTALL))
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
exactly = pytest.mark.skipif(not generated.same_matplotlib(), reason="another matplotlib may draw otherwise")


@pytest.fixture(scope="module")
def files():
    """What the command would write."""
    return kernels_page.made()


def test_the_page_is_what_the_command_would_write(files):
    """Nobody has changed a kernel, or the page, without the other."""
    assert files[PAGE].decode() == TEXT, "run 'python tools/kernels_page.py'"


def test_the_pictures_are_those_of_the_page(files):
    """Each picture that the page needs exists, and no other."""
    assert sorted(path for path in files if path.suffix == ".svg") == PICTURES


@exactly
def test_the_pictures_are_what_the_command_would_draw(files):
    """The same kernels give the same pictures, byte for byte."""
    for path in PICTURES:
        assert path.read_bytes() == files[path], f"{path.name}: run 'python tools/kernels_page.py'"


def test_pictures_are_small_and_stand_on_white(files):
    """A page of thirty pictures must load, and be read on a dark page."""
    for path in PICTURES:
        content = path.read_bytes()
        assert len(content) < 85_000, path.name
        paper = re.search(rb'<path d="M0 [^"]*" (?:style="fill:#ffffff"|class="(s\d+)")/>', content[:900])
        assert paper, path.name
        assert not paper[1] or b"." + paper[1] + b"{fill:#ffffff}" in content[:900], path.name


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_has_its_section(name):
    """A section has the formula, the parameters with their defaults, the origin, the sources and a picture."""
    kernel, section = shipped(name), SECTIONS[name]
    assert f"```text\n{header.read(kernel.source).formula}\n```" in section
    own = [p for p in kernel.parameters if p.name != "cache"]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [p.name for p in own]
    assert all(f"| `{sections.written(p.kind, p.default)}` |" in section for p in own)
    assert all(c.require.text in " ".join(section.split()) for c in kernel.constraints)
    assert sections.prose(kernel.origin, kernel) in section
    assert f"(../kernels/{name}.cu)" in section
    assert f"(../conf/kernel/{name}.yaml)" in section
    shown = re.search(r"!\[[^\]]{20,}\]\(pictures/\w+\.svg\)|^Its picture is that of \[(\w+)\]", section, re.MULTILINE)
    assert shown
    assert not shown[1] or "](pictures/" in SECTIONS[shown[1]]


def test_every_kernel_is_in_the_table():
    """The table at the top names each kernel, in the order of the sections."""
    assert re.findall(r"^\| \[(\w+)\]", TEXT, re.MULTILINE) == list(SECTIONS)
    assert sorted(SECTIONS) == KERNELS


def test_every_link_within_the_page_leads_to_a_heading():
    """GitHub's anchor of a heading: lower case, hyphens for spaces."""
    anchors = {h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors


def test_every_experiment_is_linked_by_a_kernel():
    """No experiment is of no kernel."""
    for path in (ROOT / "conf" / "experiment").glob("*.yaml"):
        assert f"(../conf/experiment/{path.name})" in TEXT, path.stem


@pytest.mark.parametrize("name", KERNELS)
def test_every_command_of_the_page_runs_that_kernel(name):
    """The command is that of the YAML, and of no other kernel."""
    (command,) = re.findall(r"^    (python -m runner .*)$", SECTIONS[name], re.MULTILINE)
    assert re.search(rf"kernel={name}\b", command)


def test_a_new_kernel_gets_a_section_without_being_told_of(tmp_path):
    """A kernel of a family that nobody knows, without a rule for its picture, comes last and has no picture."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    (tmp_path / "kernels" / "newest.cu").write_text(
        "// newest: out[i] = a_b * in[i] *twice*.\n//\n"
        "// New against bcast: all | lanes __shfl_sync.\n// Macros: BLOCK threads per block.\n// Constraints: none.\n\n"
    )
    (tmp_path / "conf" / "kernel" / "newest.yaml").write_text(
        "source: ../../kernels/newest.cu\nfamily: quite_new\nparameters:\n  block: 64  # of some\n  size: 1Ki\n"
        "macros: {BLOCK: block}\narguments: [{name: out, role: out, dtype: int32, shape: size}]\ngrid: 1\n"
        "reference: {out: arange(size)}\n"
    )
    files = kernels_page.made(tmp_path / "conf", tmp_path / "docs" / "kernels.md")
    text = files[tmp_path / "docs" / "kernels.md"].decode()
    section = text.partition("\n## Quite new\n")[2].partition("### newest\n")[2]
    assert "```text\nout[i] = a_b * in[i] *twice*.\n```" in section
    assert "**New against [bcast](#bcast):** All | lanes `__shfl_sync`." in section
    assert "| `block` | `64` | block | `BLOCK`: threads per block; of some |" in section
    assert "| `size` | `2**10` | size | elements of `out` |" in section
    assert "picture" not in section
    assert text.count("\n### ") == len(KERNELS) + 1


def test_a_kernel_for_gpus_only_says_so_and_is_not_run(tmp_path):
    """Its section tells why; a picture that would have to be measured on the CPU device is not made."""
    shutil.copy(shipped("shflUp").source, tmp_path / "shflUp.cu")
    text = shipped("shflUp").yaml.read_text().replace("../../kernels/", "")
    (tmp_path / "shflUp.yaml").write_text(f"{text}gpu_only: it is inline PTX\n")
    kernel, studio = read_kernel(tmp_path / "shflUp.yaml"), Studio({})
    assert studio.picture(kernel) is None
    assert studio.picture(shipped("shflUp")) is not None
    told = sections.Section(kernel, header.read(kernel.source), [], finish=False, refusal="", picture="")
    assert "**Runs on a GPU only:** it is inline PTX. The CPU device skips it." in sections.section(told, {}, PAGE)
    kernel = shipped("shflUp")
    told = sections.Section(kernel, header.read(kernel.source), [], finish=False, refusal="", picture="")
    assert "GPU only" not in sections.section(told, {}, PAGE)


def test_the_check_names_what_is_not_current(tmp_path):
    """The page, a picture that is missing and one too many, and nothing else: one sentence, and exit status 1."""
    for part in ("conf", "kernels", "docs", "tools", "runner"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "constraints.txt", tmp_path)
    command = [sys.executable, "tools/kernels_page.py", "--check"]
    page = tmp_path / "docs" / "kernels.md"
    page.write_text(page.read_text().replace("wavefront", "wave"))
    (tmp_path / "docs" / "pictures" / "halo.svg").unlink()
    (tmp_path / "docs" / "pictures" / "older.svg").write_text("")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "Not current: docs/kernels.md, docs/pictures/halo.svg, docs/pictures/older.svg; "
        "mend it with 'python tools/kernels_page.py'.\n"
    )
    assert "wavefront" not in page.read_text()


@pytest.mark.parametrize("block", [1, 2, 3, 11, 16, 100, 1024])
def test_folding_adds_up_every_element_once(block):
    """The picture's steps are a sum: each place's elements are passed on until one place has them all."""
    held = drawings.sums(block)
    assert held[-1][0] == block
    for step, after in zip(drawings.folds(block), held[1:], strict=True):
        assert sum(after[: step.half]) == block


def test_every_place_of_a_stencils_tile_is_loaded_once():
    """A tile of 8 elements with a halo of 4 on each side has 16 places, of as many neighbouring elements."""
    cells = drawings.tile(8, 4)
    assert [cell.place for cell in cells] == list(range(16))
    assert [cell.element for cell in cells] == list(range(-4, 12))
    assert [cell.thread for cell in cells] == [0, 1, 2, 3, *range(8), 0, 1, 2, 3]


@pytest.mark.parametrize("name", WAITING)
def test_the_pictures_of_broken_rules_agree_with_the_cpu_device(name):
    """The lanes that it names are among those drawn as breaking the rule; repaired, none is and it says nothing."""
    studio = Studio({})
    refusal = studio.refusal(shipped(name))
    broken, repaired = WAITING[name][1]
    named = [int(n) for n in re.findall(r"names? lanes (\d+)-(\d+)|lane (\d+)", refusal)[0] if n]
    assert set(named) <= {lane for row in broken[1] for lane in row.bad}
    assert not any(row.bad for row in repaired[1])
    studio.launch(shipped(name), {"repaired": 1})


@pytest.mark.parametrize("stem", STEPS)
def test_the_steps_are_those_that_the_device_takes(stem):
    """Butterfly and tree end with the sum of all, the scan with that of a segment's earlier lanes: added up as drawn."""
    studio = Studio({STEPS[stem].shuffle: shipped(STEPS[stem].shuffle)})
    kernel = studio.kernels[STEPS[stem].shuffle]
    sums = [{lane} for lane in range(32)]
    for given in STEPS[stem].cases:
        got = [int(word) for word in studio.measured(kernel, given)["received"].split()]
        sums = [own | sums[source] for own, source in zip(sums, got, strict=True)]
    everyone = set(range(32))
    expected = {
        "butterfly": [everyone] * 32,
        "tree": [everyone],
        "scan": [set(range(lane // 8 * 8, lane + 1)) for lane in range(32)],
        "broadcast": [{0, lane} for lane in range(32)],
    }[stem]
    assert sums[: len(expected)] == expected


@pytest.mark.parametrize(
    ("received", "more", "told"),
    [
        ("1 0 3 2", {}, "lanes exchange in pairs, 0 with 1 and 2 with 3"),
        ("0 2 1 3", {}, "lanes exchange in pairs, 1 with 2; lanes 0 and 3 keep their own"),
        ("0 0 1 2", {}, "lane 0 keeps its own; lanes 1 to 3 receive from 1 below"),
        ("2 2 2 2 6 6 6 6", {"width": 4}, "in each segment of 4 lanes, lanes 0 to 3 receive from lane 2"),
        ("1 2 3 0", {}, "lanes 0 to 2 receive from 1 above; lane 3 receives from 3 below"),
    ],
)
def test_what_moved_is_told_in_words(received, more, told):
    """The alternative text says what a measured map says."""
    assert words.moved({"received": received, **more}) == told


def test_a_header_without_its_parts_is_refused(tmp_path):
    """One sentence names the file and what is missing."""
    source = tmp_path / "mine.cu"
    source.write_text("// mine computes\n\n")
    with pytest.raises(ValueError, match=r"mine\.cu: the header has no first paragraph that begins with 'mine: '"):
        header.read(source)
    source.write_text("// mine: out[i] = i.\n//\n// Macros: none.\n\n")
    with pytest.raises(ValueError, match=r"mine\.cu: the header has no paragraph 'New'"):
        header.read(source)
