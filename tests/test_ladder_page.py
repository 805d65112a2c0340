"""docs/ladder.md: current, and what it says follows from the sweeps."""

import dataclasses
import re
import subprocess
import sys

import pytest
import yaml
from support import ROOT, shipped

sys.path.insert(0, str(ROOT / "tools"))

import generated
import ladder_page
from kernel_page import header
from kernel_page.sections import prose
from ladder import limits, picture, text
from ladder.counters import FILE, IN_ALL, METRICS
from ladder.steps import LADDERS, Step, Sweep, best, climbed, defined, read
from ladder.tables import Climb
from ladder_rows import EMPTY_US, READ_GBPS, READING, SIZES, SLOWER, write

STEPS = {ladder: [n for n in defined(ladder, ROOT / "conf")[0] if n not in ladder.copies] for ladder in LADDERS}
GAINS = {"reduceGridStride": 0.97, "reduceBulk": 1.0, "reduceVector": 1.3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sweeps in which a step gains 10 %, but for those of `GAINS`."""
    made = tmp_path_factory.mktemp("ladder")
    write(made, GAINS)
    return made


@pytest.fixture(scope="module")
def page(folder):
    """The page of these sweeps."""
    return made(folder)


def made(folder, **other):
    """The page of a folder's sweeps, which lie beside the bandwidth of reading."""
    return ladder_page.made(folder=folder, reading=folder / READING, **other)[ladder_page.PAGE].decode()


@pytest.mark.skipif(not (ROOT / ladder_page.FOLDER).is_dir(), reason="the ladders were not measured yet")
def test_the_page_is_what_the_command_would_write():
    """Nobody has changed a sweep, a kernel's header or the page without the others."""
    page = ladder_page.made()[ladder_page.PAGE].decode()
    assert ladder_page.PAGE.read_text(encoding="utf-8") == page, "run 'python tools/ladder_page.py'"


def test_every_step_is_told(page):
    """Each step has a section with what is new in it, what it gained and why, in the order of its experiment."""
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^###? |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(sections) == [name for names in STEPS.values() for name in names]
    for name, section in sections.items():
        assert prose(header.read(shipped(name).source).new, shipped(name)) in section
        assert re.search(r"\*\*What it gained:\*\* \S.*\n\n\*\*Why( not)?:\*\* [A-Z0-9`].{20,}", section), name


def test_a_reason_for_a_gain_stands_where_there_was_one(page, folder, tmp_path):
    """What did not pay has the reason that it may not, or none; what paid, and what is first, has the one why it does."""
    told = dict(
        re.findall(r"^### (\w+)\n.*?\*\*What it gained:\*\* (.*?)(?=^###? |\Z)", page, re.MULTILINE | re.DOTALL)
    )
    reasons = yaml.safe_load(ladder_page.WHY.read_text())
    for name, section in told.items():
        assert ("**Why not:**" in section) == ("did not pay" in section) != ("**Why:**" in section)
        assert reasons[name]["else" if "did not pay" in section else "why"] in section
    for reason in reasons.values():
        reason.pop("else", None)
    (tmp_path / "why.yaml").write_text(yaml.safe_dump(reasons))
    section = re.search(
        r"^### reduceBulk\n.*?(?=^## )", made(folder, why=tmp_path / "why.yaml"), re.MULTILINE | re.DOTALL
    )[0]
    assert "did not pay" in section
    assert "**Why" not in section


def test_a_step_that_gains_nowhere_did_not_pay(page):
    """What is slower or level at every size is told so; what gains 2 % somewhere is not."""
    told = dict(re.findall(r"^### (\w+)\n.*?\*\*What it gained:\*\* (.*?)\n", page, re.MULTILINE | re.DOTALL))
    assert {name for name, gained in told.items() if "did not pay" in gained} == {"reduceGridStride", "reduceBulk"}
    assert told["reduceGmem"] == "nothing, it is the first step."
    assert re.match(
        r"int32: 1\.\d\d\d times as fast at 2\^20, 1\.300 times as fast at 2\^30; float32: ", told["reduceVector"]
    )
    assert re.search(r"(slower|level) at 2\^20 \(0\.9\d\d\), slower at 2\^30 \(0\.970\)", told["reduceGridStride"])
    assert told["reduceBulk"].endswith("level at 2^20 (1.000), level at 2^30 (1.000).")
    assert told["reduceLastBlock"].endswith(
        "It does more than reduceGridStride, which leaves partial sums to the host."
    )


@pytest.mark.parametrize(
    ("gain", "told"), [(1.02, "1.020 times as fast"), (1.019, "level"), (0.982, "level"), (0.98, "slower")]
)
def test_two_percent_decide(gain, told):
    """Less than that in either direction does not count where rounds share a process."""
    step = Step("a", {"median_us": 1.0, "finish": "host"}, {"median_us": gain, "finish": "host"})
    gained = text.gained({("int32", "2^20"): step})
    assert told in gained
    assert ("did not pay" in gained) == (gain < 1.02)
    level = Step("a", {"median_us": 1.0, "finish": "host"}, {"median_us": 1.0, "finish": "host"})
    elsewhere = text.gained({("int32", "2^20"): step, ("float32", "2^28"): level})
    assert ("did not pay" in elsewhere) == (gain < 1.02)


def test_each_step_is_at_its_own_best(folder, page):
    """Of two configurations the faster one is shown, and the other is nowhere."""
    sweep = read(folder, "reduction-int32")
    row = best(sweep, "reduceInFlight", "2^30")
    slow = next(
        r
        for r in sweep.rows
        if r["kernel"] == "reduceInFlight" and r["size"] == 2**30 and r["median_us"] > row["median_us"]
    )
    assert slow["median_us"] == pytest.approx(SLOWER * row["median_us"])
    assert re.search(
        rf"^\| \[reduceInFlight\]\(#reduceinflight\) \\\* \| block 256, unroll 4 \| {row['median_us']:,.2f} \|",
        page,
        re.MULTILINE,
    )
    assert f"| {slow['median_us']:,.2f} |" not in page


def test_a_step_is_measured_against_the_one_that_its_header_names(folder, page):
    """Where that one has no time, against the one before it; the table says so where it is not the row above."""
    previous = {n: header.read(shipped(n).source).previous for names in STEPS.values() for n in names}
    reductions, transposes, _ = LADDERS
    steps = {s.kernel: s for s in climbed(read(folder, "reduction-int32"), "2^20", STEPS[reductions], previous)}
    assert steps["reduceLastBlock"].against["kernel"] == "reduceGridStride"  # not reduceRedux, which stands above
    assert re.search(r"^\| \[reduceLastBlock\].*\| \d\.\d\d\dx reduceGridStride's \|", page, re.MULTILINE)
    odd = {s.kernel: s for s in climbed(read(folder, "transpose"), "4097x4095", STEPS[transposes], previous)}
    assert "transposeVector" not in odd
    assert odd["transposeShifted"].against["kernel"] == "transposeSwizzle"
    assert odd["transposeGmem"].against is None
    assert re.search(r"Without a time at this size: transposeVector \(skipped: each row must begin", page)


def test_a_sum_is_limited_by_reading(folder):
    """An empty kernel's time in the same sweep, then all bytes at the bandwidth that the benchmark found for reading."""
    gbps = limits.reading(folder / READING)
    assert gbps == READ_GBPS
    for sweep in ("reduction-int32", "reduction-float32"):
        for size in (20, 30):
            most = limits.limit(LADDERS[0], read(folder, sweep), f"2^{size}", gbps)
            assert most.us == pytest.approx(EMPTY_US + 4 * 2**size / READ_GBPS / 1e3)


def test_the_row_of_the_bandwidth_is_the_benchmarks():
    """The contender that holds it is called the same where it is written."""
    assert f'EMPTY = "{limits.EMPTY}"\n' in (ROOT / "benchmarks" / "sums.py").read_text()


def test_a_transpose_is_limited_by_the_fastest_copy(folder, tmp_path):
    """The best case of the copies at that size, and without one that is right it is told."""
    sweep, ladder = read(folder, "transpose"), LADDERS[1]
    told = limits.limit(ladder, sweep, "4096x4096", READ_GBPS)
    assert told.us == best(sweep, "copyVector", "4096x4096")["median_us"]
    assert told.words == "what `copyVector` takes at its best"
    rows = [row for row in sweep.rows if row["kernel"] not in ladder.copies]
    with pytest.raises(ValueError, match="no copy of 4096x4096 is ok"):
        limits.limit(ladder, Sweep(sweep.name, rows, sweep.environment), "4096x4096", READ_GBPS)


def test_a_table_has_a_row_a_step(page):
    """Each size of each sweep has tables: its steps, then the copies; those that leave work to the host are marked."""
    tables = re.findall(
        r"^### (\w+: \w+, \S+)\n\nThe limit is (.*?)\n\n(.*?)(?=^###? |\Z)", page, re.MULTILINE | re.DOTALL
    )
    assert len(tables) == sum(len(sizes) for sizes in SIZES.values())
    title, most, table = tables[0]
    assert title == "Reductions: int32, 2^20"
    assert most.startswith("3.95 us: 3.00 us, which an empty kernel takes, and 4,194,304 bytes read at 4,400 GB/s.")
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| [")]
    assert [re.search(r"\w+", row[0])[0] for row in rows] == STEPS[LADDERS[0]]
    assert [(r"\*" in row[0]) for row in rows] == [shipped(n).finish == "host" for n in STEPS[LADDERS[0]]]
    assert "leaves partial sums to the host" in table
    assert "copyVector (a copy)" in page


def test_what_was_counted_stands_below_each_table(page):
    """The same kernels; requests and shares as ratios; columns without anything are left out."""
    tables = re.findall(r"^What each did in one launch:\n\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    assert len(tables) == sum(len(sizes) for sizes in SIZES.values())
    head, _, *rows = [line.strip("| ").split(" | ") for line in tables[0].strip().splitlines()]
    assert head[4:] == ["instructions an element", "sectors ld/st", "L1 hits %", "a warp waits for, %"]  # no wavefronts
    assert [row[0] for row in rows] == STEPS[LADDERS[0]]
    told = ["32", "75", "64", "2.0", "16/–", "25", "memory 60, fence 20"]  # noqa: RUF001 - the barrier's 4.9 % are too few
    assert rows[0][1:] == told


def test_a_step_tells_what_changed_against_the_one_before(folder, tmp_path):
    """At the size where its time changed most: numbers that are others, and shares of a warp's time."""
    write(tmp_path, GAINS)
    (tmp_path / FILE).write_text("")
    lines = (folder / FILE).read_text().splitlines()
    case = best(read(folder, "reduction-int32"), "reduceVector", "2^30")["case"]
    at, line = next((i, line) for i, line in enumerate(lines) if line.startswith(f"{case},"))
    lines[at] = line.replace(",5.0,", ",3.0,").replace(",1600.0,", ",400.0,")
    (tmp_path / FILE).write_text("\n".join([*lines, ""]))
    told = dict(re.findall(r"^### (\w+)\n.*?^\*\*Counted\*\* at (.*?)\n", made(tmp_path), re.MULTILINE | re.DOTALL))
    assert told["reduceVector"] == (
        "int32, 2^30, from reduceShflUnroll to reduceVector: sectors ld/st 16/– → 4/–; L1 hits % 25 → 100; "  # noqa: RUF001
        "a warp waits for memory 60 → 40 % of its time."
    )
    assert told["stencil1dShfl"].endswith("from stencil1dVector to stencil1dShfl: no difference.")


@pytest.mark.skipif(not generated.same_matplotlib(), reason="another matplotlib may draw otherwise")
def test_the_pictures_are_those_of_the_page():
    """Each that the page shows lies there as the command draws it, and no other; in words it says where a ladder ends."""
    files = ladder_page.made()
    page = files.pop(ladder_page.PAGE).decode()
    there = sorted((ROOT / "docs" / "pictures" / "ladders").iterdir())
    assert there == sorted(files)
    for path, content in files.items():
        assert path.read_bytes() == content, f"{path.name}: run 'python tools/ladder_page.py'"
        assert re.search(
            rf"^!\[How near .*: at .+ from \w+ with \d+ % to \w+ with \d+ %.*\]\(pictures/ladders/{path.name}\)$",
            page,
            re.MULTILINE,
        )


def test_a_picture_follows_from_the_numbers(folder):
    """The same numbers give the same picture; another time, a step that no longer pays, or that leaves work, does not."""
    rows = [{"median_us": us, "finish": "device", "case": name} for us, name in ((10.0, "a"), (5.0, "b"))]
    first, second = Step("a", rows[0], None), Step("b", rows[1], rows[0])
    climb = Climb(read(folder, "reduction-int32"), "2^20", [first, second], [], limits.Limit(4.0, "any"))
    same = picture.drawn("A ladder", ["a", "b"], [climb])
    assert picture.drawn("A ladder", ["a", "b"], [climb]) == same
    slower = {**rows[0], "median_us": 5.05}
    for other in (
        Step("b", {**rows[1], "median_us": 5.1}, rows[0]),
        Step("b", rows[1], slower),
        Step("b", {**rows[1], "finish": "host"}, rows[0]),
    ):
        assert picture.drawn("A ladder", ["a", "b"], [dataclasses.replace(climb, steps=[first, other])]) != same
    told = "How near each step comes to the limit: at int32, 2^20 from a with 40 % to b with 80 %"
    assert picture.in_words([climb]) == told


def test_a_page_that_is_not_current_is_named(monkeypatch, capsys):
    """The check names the page and its pictures, writes nothing, and ends with 1."""
    page = ROOT / "docs" / "no-ladder.md"
    monkeypatch.setattr(ladder_page, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["ladder_page.py", "--check"])
    assert ladder_page.main() == 1
    assert capsys.readouterr().err == "Not current: docs/no-ladder.md; mend it with 'python tools/ladder_page.py'.\n"
    assert not page.exists()


def test_how_it_was_measured_is_told(page):
    """Command, GPU, driver and date of each sweep, from its environment.json."""
    for name in SIZES:
        assert re.search(
            rf"^\| {name} \(.*\| 2026-11-21 \| NVIDIA H200 \| 580.0 \| 13.0 \| `python -m runner of {name}` \|",
            page,
            re.MULTILINE,
        )


def test_links_are_relative_to_the_page(folder, tmp_path):
    """A sweep below docs/ is linked from docs/ on."""
    (tmp_path / "docs" / "h200").mkdir(parents=True)
    (tmp_path / "docs" / "h200" / "ladder").symlink_to(folder)
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    reading = ladder_page.FOLDER / READING
    files = ladder_page.made(tmp_path, page=tmp_path / "docs" / "ladder.md", reading=reading)
    page = files[tmp_path / "docs" / "ladder.md"].decode()
    assert "](pictures/ladders/ladder_stencil.svg)" in page
    assert "[csv](h200/ladder/stencil.csv), [html](h200/ladder/stencil.html)" in page
    assert "([table](h200/ladder/reduction.csv))" in page
    assert str(tmp_path) not in page


def test_a_folder_without_any_sweep_is_told(tmp_path):
    """Nothing has to be counted then; each ladder has the command that measures it in its place."""
    write(tmp_path, {})
    for path in (
        *tmp_path.glob("*-*.csv"),
        *(tmp_path / f"{name}.csv" for name in ("transpose", "stencil", "counters")),
    ):
        path.unlink()
    told = made(tmp_path)
    assert told.count("Not measured yet: on a GPU `sh docs/ladder.sh") == len(LADDERS)


def test_links_within_the_page_lead_to_a_heading(page):
    """Steps and tables, as GitHub names a heading's place."""
    places = {
        re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    }
    links = set(re.findall(r"\]\(#([^)]*)\)", page))
    assert links <= places
    assert len(links) == sum(map(len, STEPS.values())) + sum(map(len, SIZES.values()))


def test_an_older_table_without_a_column_is_read(folder, tmp_path):
    """What bytes_in_flight would say is empty then."""
    write(tmp_path, {})
    path = tmp_path / "stencil.csv"
    path.write_text(path.read_text().replace("bytes_in_flight", "other"))
    assert best(read(tmp_path, "stencil"), "copyVector", "2^24")["bytes_in_flight"] is None
    assert "copyVector (a copy)" in made(tmp_path)


def test_no_sweeps_are_one_sentence():
    """What is missing, and the command that makes it."""
    told = r"^nowhere: there are no sweeps yet; on a GPU 'sh docs/ladder.sh nowhere' makes them\.$"
    with pytest.raises(OSError, match=told):
        ladder_page.made(folder=ladder_page.Path("nowhere"))


def test_a_ladder_without_its_sweep_is_told(tmp_path):
    """The other ladders are written, and in its place stands the command that measures it."""
    write(tmp_path, {})
    (tmp_path / "stencil.csv").unlink()
    told = made(tmp_path)
    assert "## Stencils\n\nNot measured yet: on a GPU `sh docs/ladder.sh" in told
    assert "### stencil1dVector" not in told
    assert "### transposeVector" in told


def _line(at, change):
    """What changes one line of a file's text."""
    return lambda text: "\n".join(change(line) if i == at else line for i, line in enumerate(text.split("\n"), 1))


# Of which file, what it holds instead (nothing: the file is gone), and what is said of it.
UNFIT = {
    "an empty table": ("stencil.csv", lambda _: "", "stencil.csv: the file is empty"),
    "only a header": ("stencil.csv", lambda t: t[: t.index("\n") + 1], "stencil.csv: there is no line below"),
    "a torn line": ("stencil.csv", _line(12, lambda line: line[: line.index(",", 20)]), "stencil.csv: line 12 has "),
    "a line too long": ("stencil.csv", _line(3, lambda line: line + ",1"), "stencil.csv: line 3 has "),
    "a torn end": ("stencil.csv", lambda t: t[:-1], "is cut off"),
    "another table": ("stencil.csv", lambda _: "a,b\n1,2\n", "stencil.csv: there is no column 'case'"),
    "no number": ("stencil.csv", lambda t: t.replace(",65536", ",many"), "bytes_in_flight: a number from 0 on is expected, not 'many'"),
    "no case that is ok": ("stencil.csv", lambda t: t.replace(",ok,", ",mismatch,"), "stencil.csv: no case is ok"),
    "no size": ("stencil.csv", lambda t: t.replace("size", "size_", 1).replace("\n", ",size\n", 1).replace("\n", ",\n").replace(",size,\n", ",size\n"), "has no size"),
    "a size of 0": ("stencil.csv", lambda t: t.replace(",16777216,", ",0,"), "a case of stencil1dConstant has no size"),
    "no seed": ("stencil.csv", lambda t: t.replace(",0123abcd,0,", ",0123abcd,,"), "a case of stencil1dConstant has no seed"),
    "no environment": ("stencil.json", None, "stencil.json: No such file or directory"),
    "half an environment": ("stencil.json", lambda t: t[:-9], "stencil.json: no JSON: "),
    "a list": ("stencil.json", lambda _: "[1]", "stencil.json: there is no devices.cuda: this is no sweep on a GPU"),
    "a sweep of the CPU device": ("stencil.json", lambda t: t.replace('"cuda"', '"cpu"'), "stencil.json: there is no devices.cuda"),
    "a GPU without a floor": ("stencil.json", lambda t: t.replace('_us": 3.0', '_us": null'), "devices.cuda.empty_kernel_us: a number above 0 is expected"),
    "no bandwidth of reading": (READING, None, "reduction.csv: No such file or directory"),
    "half a bandwidth of reading": (READING, lambda t: t.replace(",4400.0\n", "\n"), "reduction.csv: line 2 has 3 of 4 columns"),
    "a benchmark without reading": (READING, lambda t: t.replace("empty", "full"), "reduction.csv: no line of the contender 'empty kernel'"),
    "no counters": (FILE, None, "counters.csv: No such file or directory"),
    "a case that nobody counted": (FILE, _line(3, lambda line: "0" + line), "counters.csv: there is no case "),
    "machine code of another day": (FILE, lambda t: t.replace("0123abcd", "4567"), "the machine code that was counted is 4567, and 0123abcd was measured"),
    "a count that is empty": (FILE, _line(2, lambda line: line[: line.rindex(",") + 1]), f"has no {METRICS[-1]}"),
    "a warp that never worked": (FILE, _line(2, lambda line: line.replace(",10.0,", ",0,")), f"{IN_ALL} is 0"),
    "no reasons": ("why.yaml", None, "why.yaml: No such file or directory"),
    "empty reasons": ("why.yaml", lambda _: "\n", "why.yaml: the file is empty"),
    "nothing but a remark": ("why.yaml", lambda _: "# later\n", "why.yaml: keys with values are expected, not 'null'"),
    "a list of reasons": ("why.yaml", lambda _: "- a\n- b\n", "why.yaml: keys with values are expected, not "),
    "torn reasons": ("why.yaml", lambda t: t[: t.index("reduceShfl:") + 5], "why.yaml: line "),
    "a step without a reason": ("why.yaml", lambda t: t[: t.index("reduceBulk:")], "why.yaml: the key 'reduceBulk' is missing"),
    "a reason for no step": ("why.yaml", lambda t: t + "reduceMore: {why: It is more.}\n", "why.yaml: 'reduceMore' is no key here"),
    "a reason that is none": ("why.yaml", lambda t: t + "stencil1dShfl: {why: ' '}\n", "stencil1dShfl: why: a sentence is expected, not ' '"),
    "half a reason": ("why.yaml", lambda t: t + "stencil1dShfl: {else: No.}\n", "stencil1dShfl: the key 'why' is missing"),
    "a plain reason": ("why.yaml", lambda t: t + "stencil1dShfl: It is so.\n", "stencil1dShfl: keys with values are expected"),
}  # fmt: skip
MENDED = {
    "stencil": "; on a GPU 'sh docs/ladder.sh {} stencil' makes it.",
    "reduction": "; on a GPU 'sh docs/limits.sh {}' makes it.",
    "counters": "; on a GPU 'python tools/count_ladder.py {}' counts anew.",
    "why": "",
}


@pytest.mark.parametrize("what", UNFIT)
def test_an_unfit_file_is_one_sentence(what, tmp_path, monkeypatch, capsys):
    """Missing, torn or of something else: what, where and what mends it, exit status 2, and the page stays as it is."""
    name, change, told = UNFIT[what]
    write(tmp_path, {})
    (tmp_path / "why.yaml").write_text(ladder_page.WHY.read_text())
    text = (tmp_path / name).read_text()
    (tmp_path / name).unlink()
    if change:
        (tmp_path / name).write_text(change(text))
    page = tmp_path / "ladder.md"
    page.write_text("as it was")
    for constant, path in (("FOLDER", tmp_path), ("PAGE", page), ("WHY", tmp_path / "why.yaml")):
        monkeypatch.setattr(ladder_page, constant, path)
    monkeypatch.setattr(ladder_page, "READING", tmp_path / READING)
    monkeypatch.setattr(sys, "argv", ["ladder_page.py"])
    assert ladder_page.main() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{tmp_path}/{name}: ")
    assert told in said.err
    assert said.err.endswith(f"{MENDED[name.split('.')[0]].format(tmp_path)}\n")
    assert said.err.count("\n") == 1
    assert page.read_text() == "as it was"


SWEEPS = "reduction-int32 reduction-float32 transpose stencil"


@pytest.mark.parametrize(("given", "named"), [
    ([], ""), ([""], ""), (["-h"], "-h"), (["transpose"], "transpose"), (["kept", "stencils"], "stencils"),
    (["kept", "stencil", ""], ""), (["kept", "transpose stencil"], "transpose stencil"),
])  # fmt: skip
def test_the_sweeps_names_are_told(given, named, tmp_path):
    """Without a folder, or with an unknown sweep, the script says what is expected and touches nothing."""
    (tmp_path / "outputs" / "ladder").mkdir(parents=True)
    command = ["sh", str(ROOT / "docs" / "ladder.sh"), *given]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = f"docs/ladder.sh: a folder, then none or some of {SWEEPS} are expected, not '{named}'.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "outputs", tmp_path / "outputs" / "ladder"]


def test_the_script_has_the_ladders_sweeps():
    """Those that the page reads, and no other."""
    assert SWEEPS.split() == [name for ladder in LADDERS for name in ladder.sweeps]


@pytest.mark.skipif((ROOT / ladder_page.FOLDER).is_dir(), reason="the ladders were measured")
def test_the_check_says_that_there_is_nothing_yet():
    """One sentence and exit status 2, no traceback."""
    command = [sys.executable, "tools/ladder_page.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "docs/h200/ladder: there are no sweeps yet; on a GPU 'sh docs/ladder.sh docs/h200/ladder' makes them.\n"
    )
