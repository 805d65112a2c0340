"""The documents tell the truth: links lead somewhere, commands run, lists are complete, numbers are those of the tables."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from support import ROOT, shipped

from runner.bounds import formula
from runner.bounds.array_expression import ArrayExpression
from runner.ci import places
from runner.compose import checks, schema
from runner.device import cache
from runner.device.config import DeviceConfig
from runner.device.limits import MESSAGE_BYTES, Limits
from runner.files import limited
from runner.history import page
from runner.kernel import case, resolve, yaml_arguments, yaml_reader
from runner.kernel.arrays import FILLS
from runner.kernel.declaration import VOCABULARY
from runner.kernel.from_yaml import KEYS
from runner.kernel.recipes import KINDS
from runner.search import space
from runner.sweep import worker

sys.path.insert(0, str(ROOT / "tools"))

import kernels_page
from kernel_page import header
from kernel_page.pictures import STEPS, Studio

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (python -m runner(?: .*?)?)(?:  +#.*)?$", README, re.MULTILINE)
H200_STEPS = ROOT / "docs" / "h200" / "steps"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(document):
    """A link finds its file, and in a document of the project its heading."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, heading in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if "://" in target:
            continue
        if target == "gallery.md":  # which only the site has
            continue
        found = document.parent / target if target else document
        assert found.exists(), target
        if heading and found.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}, heading


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_runs(command, tmp_path, runner):
    """What the README tells a newcomer to type runs, its own kernel too; with few elements, on the CPU device."""
    assert len(COMMANDS) >= 6
    smaller = ["size=1000", "device=cpu", *(["block=64"] if "glob" in command else [])]
    if own := "my_kernels" in command:
        (tmp_path / "my_kernels" / "kernel").mkdir(parents=True)
        for language, content in re.findall(r"```(yaml|cuda)\n(.*?)```", README, re.DOTALL):
            name = f"saxpy.{'cu' if language == 'cuda' else 'yaml'}"
            (tmp_path / "my_kernels" / "kernel" / name).write_text(content)
    words = shlex.split(command)[3:]
    if words[:1] in (["list"], ["profile"], ["compare"]):  # of runs
        smaller = []
        assert [runner("kernel=reduceShfl", "size=1000", "device=cpu").code for _ in range(2)] == [0, 0]
    done = runner(*words, *smaller)
    assert done.code == 0, done.err
    assert not own or (done.folder / "results.csv").read_text().count(",ok,") == 6


def words(path):
    """What stands in backticks."""
    text = re.sub(r"```.*?```", "", Path(path).read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]+)`", text))))


def test_every_key_of_a_kernel_is_documented():
    """docs/kernel-yaml.md has each key, each parameter, each fill and each function of references."""
    functions = {name for name in ArrayExpression.TABLE if isinstance(name, str)}
    assert {*KEYS, *VOCABULARY, *FILLS, *KINDS, *functions} <= words(ROOT / "docs" / "kernel-yaml.md")


def least(table):
    """Of a table in docs/h200/steps, each kernel's least time by size."""
    found, size = {}, ""
    for line in (H200_STEPS / table).read_text(encoding="utf-8").splitlines():
        if line.startswith("> size "):
            size = line.split()[2]
        if time := re.match(r"(\w+)[^:]* *: +([\d,.]+) µs", line):
            us = float(time[2].replace(",", ""))
            found[time[1], size] = min(us, found.get((time[1], size), us))
    return found


@pytest.mark.parametrize(
    ("family", "table"),
    [("Reductions", "reduction-int32.txt"), ("Transposes", "transpose.txt"), ("Stencils", "stencil.txt")],
)
def test_what_a_step_gained_is_what_was_measured(family, table):
    """Each ratio of docs/optimizing.md is that of two times in its table."""
    text = (ROOT / "docs" / "optimizing.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {family}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\|.*\|$", section, re.MULTILINE)]
    sizes, times = rows[0][2:-1], least(table)
    for kernel, against, *ratios, _ in rows[2:]:
        for size, ratio in zip(sizes, ratios, strict=True):
            if ratio != "-":
                assert float(ratio) == pytest.approx(times[against, size] / times[kernel, size], abs=0.0051), kernel


@pytest.mark.parametrize(("heading", "tables"), [("Sums", "sums-*.txt"), ("Transposes", "transposes*.txt")])
def test_the_ratios_beside_the_libraries_are_those_of_the_tables(heading, tables):
    """Each number of the tables in docs/h200/limits/README.md stands in a table beside it, perhaps with more digits."""
    folder = ROOT / "docs" / "h200" / "limits"
    section = (folder / "README.md").read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    measured = "".join(path.read_text(encoding="utf-8") for path in folder.glob(tables))
    numbers = {float(n) for n in re.findall(r"\d+\.\d+", measured)}
    cells = re.findall(r"\d+\.\d+", " ".join(re.findall(r"^\|.*\|$", section, re.MULTILINE)))
    assert len(cells) > 10
    for cell in cells:
        half = 0.5001 * 10 ** -len(cell.partition(".")[2])
        assert any(abs(n - float(cell)) <= half for n in numbers), cell


def test_the_table_of_faults_says_that_nothing_is_lost():
    """In docs/reliability.txt no finished row is lost, and every sweep is complete in the end."""
    lines = (ROOT / "docs" / "reliability.txt").read_text(encoding="utf-8").splitlines()
    rows = [found.groups() for line in lines if (found := re.search(r" +(\d+) +(\d+) +(\d+) +(\d+)  (.*)", line))]
    assert len(rows) > 30
    for times, lost, complete, _equal, came in rows:
        assert (lost, complete) == ("0", times), came


@pytest.fixture(scope="module")
def files():
    """What the command would write."""
    return kernels_page.made()


def test_the_pages_of_kernels_are_what_the_command_would_write(files):
    """Nobody changed a kernel without its page, or a page by hand; the pages have their pictures and no other."""
    assert sorted(files) == kernels_page.written(), "run 'make kernels-page'"
    assert [path for path, content in files.items() if path.read_bytes() != content] == [], "run 'make kernels-page'"


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


def test_the_limits_of_the_page_are_those_of_the_code():
    """Each row of the table in reliability.md has the numbers of the constants that enforce them."""
    text = (ROOT / "docs" / "reliability.md").read_text()
    table = text[text.index("## Limits") : text.index("## What a")]
    rows = {row.split("|")[1].strip(): row for row in table.splitlines() if row.startswith("| ")}
    enforced = {
        "cases of a sweep": (schema.MAX_CASES, limited.MAX_ROWS, checks.MAX_EQUAL),
        "a kernel's YAML": (yaml_reader.MAX_BYTES >> 10, yaml_reader.MAX_NODES, limited.MAX_LEVELS,
                            yaml_reader.MAX_PARAMETERS, yaml_reader.MAX_REFERENCES, limited.MAX_DIGITS),
        "an expression": (formula.LONGEST, formula.DEEPEST, formula.LARGEST_BITS),
        "a structure": (yaml_arguments.MAX_NUMBERS,),
        "`launches` of a case": (resolve.MAX_LAUNCHES, resolve.MAX_POINTERS),
        "loops under `launches`": (case.MAX_TURNS,),
        "a source, and each file that it includes": (cache.MAX_SOURCE_BYTES >> 20,),
        "a process of a compiler": (int(Limits().seconds), int(Limits().gb), 2 * MESSAGE_BYTES >> 10),
        "a launch": (int(DeviceConfig().time_limit_s),),
        "inputs and the reference of a case": (int(worker.PATIENCE_S),),
        "a search": (space.MAX_VALUES,),
        "`history`": (page.MAX_RUNS, page.MAX_POINTS),
        "`judge` and `compare` for CI": (places.MAX_FOLDERS,),
    }  # fmt: skip
    for what, numbers in enforced.items():
        assert all(re.search(rf"(?<![\d,]){n:,}(?![\d,]\d)", rows[what]) for n in numbers), (what, numbers)
