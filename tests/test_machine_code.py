"""Machine code: kept beside the times, shown in the report, and compared."""

import dataclasses
import importlib.util
import re
from types import SimpleNamespace

import pytest
from outcomes import rows
from processes import call
from support import ROOT, case_of, shipped

from runner.device import options
from runner.device.cuda import disassembly
from runner.device.cuda.compiler import CudaCompiler, Nvrtc
from runner.device.cuda.disassembly import disassemble
from runner.record.folder import RunFolder
from runner.stages.code import machine_code, stage

WRITTEN = (ROOT / "tests" / "machine_code" / "twice.txt").read_text()  # as nvdisasm writes it
disassembler = pytest.mark.skipif(
    disassembly.find_nvdisasm() is None or importlib.util.find_spec("cuda") is None,
    reason="there is no nvdisasm, or no NVRTC",
)


def test_code_is_instructions_behind_lines():
    """Directives, encodings, folders and padding are left out; loads and stores of local memory are counted."""
    text = machine_code.text_of(WRITTEN)
    assert text.splitlines()[:5] == [
        "twice:", " @ twice.cu:4", " 0000 LDC R1, c[0x0][0x28]", " 0010 @!P0 LDG.E R4, desc[UR6][R4.64]", ".L_x_7:",
    ]  # fmt: skip
    assert text.endswith(".L_x_8:\n 0050 BRA `(.L_x_8)\n")
    assert (machine_code.count(text), machine_code.spills(text)) == (6, 1)
    assert machine_code.with_lines(text, text.replace("FADD", "FMUL")) == text


def test_names_of_registers_and_labels_are_no_difference():
    """Other registers, labels, offsets and files are the same code; another operand is one instruction."""
    before = machine_code.text_of(WRITTEN)
    other = WRITTEN.replace("R4", "R9").replace("L_x_7", "L_x_3").replace("/*00", "/*10").replace("own/twice", "x/y")
    assert machine_code.difference(before, machine_code.text_of(other)).diff == ""
    found = machine_code.difference(before, machine_code.text_of(other.replace("c[0x0][0x28]", "c[0x0][0x30]")))
    assert (found.removed, found.added) == (1, 1)
    assert "-LDC R1, c[0x0][0x28]\n+LDC R1, c[0x0][0x30]" in found.diff


@disassembler
def test_a_real_cubin_is_disassembled(tmp_path):
    """Lines are those of the kernel; two block sizes of it differ in the instructions that hold the size."""
    compiler = CudaCompiler("sm_90", Nvrtc(), tmp_path)
    texts = []
    for block in (128, 256):
        source = case_of(shipped("reduceShfl"), block=block).source()
        lined = dataclasses.replace(source, options=(*source.options, options.LINES))
        own, lines = (disassemble(compiler.compile(each).path.read_bytes()) for each in (source, lined))
        texts.append(machine_code.with_lines(machine_code.text_of(own), machine_code.text_of(lines)))
        assert " @ reduceShfl.cu:" in texts[-1]
    found = machine_code.difference(*texts)
    assert found.removed == found.added < 10
    assert {"0x80", "0x100"} <= set(found.diff.replace(",", " ").split())


def test_only_a_binarys_name_is_read(tmp_path):
    """A table of somebody else cannot name another file, and a file of another kind is no code."""
    (tmp_path / "run" / "machine").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    folder = RunFolder(tmp_path / "run")
    (tmp_path / "run" / "machine" / f"{'a' * 12}.txt").symlink_to(tmp_path / "secret.txt")
    odd = "  \n\n : \n @ \n @ x\n\x00\n"
    assert machine_code.difference(odd, WRITTEN).diff
    assert machine_code.count(odd) >= 0
    machine_code.keep(folder, "b" * 12, "twice:\n", ".entry twice\n")
    assert [machine_code.read(folder, n, ptx=True) for n in ("../../secret", "b" * 12)] == ["", ".entry twice\n"]
    assert [machine_code.read(folder, n) for n in ("../../secret", "a" * 12, "b" * 12)] == ["", "", "twice:\n"]


def test_of_many_binaries_the_fastest_are_kept(monkeypatch):
    """Those of each size first, and a binary of several cases once."""
    monkeypatch.setattr(stage, "MAX_BINARIES", 3)
    found = [("slow", 1, 9.0), ("fast", 1, 1.0), ("same", 1, 2.0), ("other", 2, 8.0), ("same", 2, 5.0)]
    jobs = [SimpleNamespace(number=n) for n in range(5)]
    rows = {n: {"binary": b, "size": s, "median_us": us, "family": "f"} for n, (b, s, us) in enumerate(found)}
    assert {name: job.number for name, job in stage.fastest(jobs, rows).items()} == {"fast": 1, "same": 4, "other": 3}


def test_without_nvdisasm_there_is_a_sentence(monkeypatch):
    """It says where the tool comes from."""
    monkeypatch.setattr(disassembly, "find_nvdisasm", lambda: None)
    with pytest.raises(OSError, match="nvdisasm is not on the PATH; it comes with"):
        disassemble(b"")


@disassembler
def test_a_comparison_disassembles_what_a_sweep_kept(tmp_path):
    """A folder with cubins alone gives the code; a damaged one, or one that is not there, gives none."""
    binary = CudaCompiler("sm_90", Nvrtc(), tmp_path).compile(case_of(shipped("reduceShfl")).source())
    folder = RunFolder(tmp_path)
    (tmp_path / "machine").mkdir()
    folder.write(folder.cubin(binary.name), binary.path.read_bytes())
    folder.write(folder.cubin("a" * 12), b"no cubin")
    assert "reduceShfl:" in machine_code.disassembled(folder, binary.name).splitlines()
    assert [machine_code.disassembled(folder, name) for name in ("a" * 12, "b" * 12, "../x")] == [""] * 3


@pytest.mark.gpu
def test_a_sweep_keeps_its_binaries_and_they_are_disassembled_on_demand(runner):
    """The page names the command, which gives each binary its code with lines and PTX; the page then shows the fastest."""
    given = ("kernel=reduceShfl", "block=128,256", "size=1Mi", "device=cuda", "timing=quick")
    done = runner(*given)
    assert done.code == 0, done.err
    names = {row["binary"] for row in rows(done.folder)}
    assert len(names) == 2
    assert {path.name for path in (done.folder / "machine").iterdir()} == {f"{name}.cubin" for name in names}
    assert re.search(r"python -m runner profile \S+ .*code", (done.folder / "report.html").read_text())
    deeper = call(done.directory, done.folder, "code", module="runner.profile")
    assert deeper.returncode == 0, deeper.stderr
    texts = {name: (done.folder / "machine" / f"{name}.txt").read_text() for name in names}
    assert all(" @ reduceShfl.cu:" in text for text in texts.values())
    assert all(".entry reduceShfl" in (done.folder / "machine" / f"{name}.ptx").read_text() for name in names)
    page = (done.folder / "report.html").read_text()
    assert "Machine code of reduceShfl" in page
    assert ".entry reduceShfl" in page
