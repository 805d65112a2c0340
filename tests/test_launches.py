"""Several steps as one kernel: memsets, copies and launches of several sources, for all that looks into a kernel.

That their results are right on each device, test_own_arguments.py has.
"""

import shutil

import pytest
import yaml
from outcomes import altered, rows
from processes import call
from support import ROOT, Bench, case_of, line_costs, read_kernel
from test_nvrtc import installed

from runner.device import elf
from runner.device.checked.device import CheckedDevice
from runner.device.cpu.build import CpuCompiler
from runner.device.cuda.compiler import CudaCompiler
from runner.device.cuda.nvrtc import Nvrtc
from runner.record import sources
from runner.record.folder import RunFolder
from runner.stages.checked import builds
from runner.stages.code import machine_code

FOLDER = ROOT / "tests" / "kernels" / "launches"


@pytest.fixture(scope="module")
def checked(own_cache):
    """The checked device."""
    return Bench(CheckedDevice(threads=1), CpuCompiler(checked=True))


@pytest.mark.parametrize("name", ["setThenCount", "setToMost", "copyBetween"])
def test_a_memset_and_a_copy_initialize_an_array(checked, name):
    """On the checked device the launches behind them read what they wrote."""
    outcome = checked.run(case_of(read_kernel(FOLDER / f"{name}.yaml")))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("name", "step", "array"),
    [
        ("setThenCount", "  - memset: counts\n", "counts"),
        ("copyBetween", "      - copy: {from: data, to: before}\n", "before"),
    ],
)
def test_without_the_step_the_array_is_uninitialized(checked, tmp_path, name, step, array):
    """The checked device names the array and the line that reads it."""
    path = altered(FOLDER / f"{name}.yaml", tmp_path, (step, ""))
    reason = checked.run(case_of(read_kernel(path))).reason
    assert f"uninitialized read of global '{array}'" in reason
    assert reason.startswith("own.cu:")


def test_a_memset_behind_a_read_does_not_excuse_it(checked, tmp_path):
    """Only the launches behind a memset read what it wrote."""
    step, launch = "  - memset: counts\n", "  - {function: countBins, arguments: [in, counts, n]}\n"
    path = altered(FOLDER / "setThenCount.yaml", tmp_path, (step + launch, launch + step))
    assert "uninitialized read of global 'counts'" in checked.run(case_of(read_kernel(path))).reason


def test_lines_of_launches_behind_a_memset_are_counted():
    """The counting launches set and copy, too: without the places that a memset sets, this kernel reads anywhere."""
    costs = line_costs(case_of(read_kernel(FOLDER / "setThenFetch.yaml")))
    lines = (FOLDER / "own.cu").read_text().splitlines()
    assert {lines[cost.line - 1].strip() for cost in costs} == {"if (i < n) to[i] = from[places[i]];"}


def test_kernels_that_differ_in_a_memset_share_no_cached_result(checked, tmp_path):
    """Both have the same binary, launches and arrays."""
    cases = [
        case_of(read_kernel(altered(FOLDER / "setThenFetch.yaml", tmp_path / value, ("size - 1}", f"{value}}}"))))
        for value in ("0", "1")
    ]
    binary = checked.compiler.compile(cases[0].source())
    builds.cache_result("races", cases[0], binary=binary, result={"late": 0})
    assert [builds.cached_result("races", case, binary=binary) for case in cases] == [{"late": 0}, None]


@pytest.fixture
def two(tmp_path):
    """A configuration folder with a kernel of two sources."""
    folder = tmp_path / "own" / "kernel"
    shutil.copytree(FOLDER / "second", folder / "second")
    for name in ("twoFiles.yaml", "start.cu"):
        shutil.copy(FOLDER / name, folder)
    return folder


def test_a_run_folder_has_both_sources(two, runner, tmp_path):
    """Lines of both are counted and listed, and the kernel runs again from the folder when its own files are gone."""
    done = runner("--config-dir", str(two.parent), "kernel=twoFiles", "device=cpu", "lines=all")
    assert done.code == 0, done.err
    kept = {path.relative_to(done.folder / "sources").as_posix() for path in done.folder.glob("sources/**/*.cu*")}
    assert kept == {"kernels/start.cu", "kernels/second/finish.cu", "kernels/second/scale.cuh"}
    assert {line.split(",")[2] for line in (done.folder / "lines.csv").read_text().splitlines()} == {
        "file", "start.cu", "finish.cu",
    }  # fmt: skip
    page = (done.folder / "report.html").read_text()
    assert "kernels/second/finish.cu" in page
    assert "FACTOR 2.0f" in page
    two.parent.rename(tmp_path / "gone")
    again = call(tmp_path, done.folder, module="runner.repeat")
    assert again.returncode == 0, again.stdout + again.stderr


def test_a_change_of_the_second_source_is_a_change_of_the_kernel(two, tmp_path):
    """Its fingerprint and its binary change with either source, or a header of the second; not with the folder."""
    compiler = CpuCompiler(tmp_path / "cache")

    def now(folder):
        sources._fingerprint.cache_clear()  # files are taken as constant within a sweep
        path = folder / "twoFiles.yaml"
        kernel = read_kernel(path)
        prints = sources.fingerprint(kernel, yaml.safe_load(path.read_text()))
        return dict(prints), compiler.compile(case_of(kernel).source()).digest

    before = now(two)
    moved = shutil.copytree(two, tmp_path / "moved")
    (moved / "twoFiles.yaml").write_text((two / "twoFiles.yaml").read_text().replace("second/", "../moved/second/"))
    assert now(moved) == before
    changes = {
        "second/finish.cu": ("* weights", "* 2.0f * weights", "finish.cu"),
        "second/scale.cuh": ("2.0f", "3.0f", "second/scale.cuh"),
        "start.cu": ("0.5f", "0.25f", "start.cu"),
    }
    for name, (old, new, key) in changes.items():
        text = (two / name).read_text()
        (two / name).write_text(text.replace(old, new))
        prints, digest = now(two)
        assert digest != before[1], name
        assert [file for file, value in prints.items() if before[0][file] != value] == [key]
        (two / name).write_text(text)


def test_a_race_in_the_second_source_has_its_line(checked, two):
    """A finding names the file that has it."""
    path = two / "second" / "finish.cu"
    path.write_text(path.read_text().replace("if (i == 0) passes", "passes"))
    outcome = checked.run(case_of(read_kernel(two / "twoFiles.yaml")))
    assert outcome.status == "hazard"
    assert outcome.findings
    assert {finding.line for finding in outcome.findings} == {"finish.cu:14"}


def test_a_compile_error_names_the_second_source(checked, two):
    """The message has its line, as the first source's would."""
    path = two / "second" / "finish.cu"
    path.write_text(path.read_text().replace("helper(data[i])", "helpers(data[i])"))
    outcome = checked.run(case_of(read_kernel(two / "twoFiles.yaml")))
    assert outcome.status == "compile_error"
    assert "finish.cu:13" in outcome.reason


def test_a_case_of_two_sources_is_found_in_the_cache(checked):
    """What an earlier run built for the checked device is taken without a compiler."""
    source = builds.host_source(case_of(read_kernel(FOLDER / "twoFiles.yaml")))
    built = builds.build(checked.compiler, source)
    found = builds.cached_build(source)
    assert (found.digest, [part.path for part in found.parts]) == (built.digest, [part.path for part in built.parts])
    assert len(found.parts) == 2


def test_candidates_are_judged_with_the_second_source_of_the_baseline(two, runner, tmp_path):
    """A candidate replaces the kernel's source; what launches name stays where the baseline has it."""
    (tmp_path / "candidates").mkdir()
    text = (two / "start.cu").read_text()
    (tmp_path / "candidates" / "right.cu").write_text(text.replace("*= 0.5f", "/= 2.0f"))
    (tmp_path / "candidates" / "wrong.cu").write_text(text.replace("*= 0.5f", "*= 0.25f"))
    call(tmp_path, "judge", "candidates", "--baseline", "twoFiles", "--config-dir", str(two.parent), "device=cpu")
    (folder,) = tmp_path.glob("outputs/*/*")
    status = {row["kernel"]: row["status"] for row in rows(folder)}
    assert {status[name] for name in status if name.endswith(("right", "twoFiles"))} == {"ok"}
    assert {status[name] for name in status if name.endswith("wrong")} == {"mismatch"}


@installed
@pytest.mark.parametrize("arch", [75, 90, 100])
def test_each_source_is_a_cubin_and_a_run_folder_keeps_both(tmp_path, arch):
    """Both have a function of the same name; they are compiled with the same parameters."""
    compiler = CudaCompiler(f"sm_{arch}", Nvrtc(), tmp_path)
    binary = compiler.compile(case_of(read_kernel(FOLDER / "twoFiles.yaml")).source())
    cubins = [part.path.read_bytes() for part in binary.parts]
    names = [{name for s in elf.symbols(cubin) for name in ("step", "half") if name in s.name} for cubin in cubins]
    assert names == [{"step", "half"}, {"step"}]
    folder = RunFolder(tmp_path)
    (tmp_path / "machine").mkdir()
    machine_code.keep_cubins(folder, binary.name, cubins)
    assert machine_code.cubins(folder, binary.name) == cubins
