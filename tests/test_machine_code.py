"""Machine code: kept beside the times, shown in the report, and compared."""

import importlib.util
from types import SimpleNamespace

import pytest
from outcomes import rows
from support import ROOT, case_of, shipped

from runner.device import Binary
from runner.device.cuda import compiler as cuda_compiler
from runner.device.cuda.compiler import CudaCompiler, Nvrtc
from runner.record.folder import RunFolder
from runner.stages.code import machine_code, stage

WRITTEN = (ROOT / "tests" / "machine_code" / "twice.txt").read_text()  # as nvdisasm writes it
disassembler = pytest.mark.skipif(
    cuda_compiler.find_nvdisasm() is None or importlib.util.find_spec("cuda") is None,
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
        own, lined = compiler.disassembled(source, compiler.compile(source))
        texts.append(machine_code.with_lines(machine_code.text_of(own), machine_code.text_of(lined)))
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


def test_without_nvdisasm_there_is_a_sentence(tmp_path, monkeypatch):
    """It says where the tool comes from."""
    monkeypatch.setattr(cuda_compiler, "find_nvdisasm", lambda: None)
    source = case_of(shipped("reduceShfl")).source()
    compiler = CudaCompiler("sm_90", None, tmp_path)
    with pytest.raises(OSError, match="nvdisasm is not on the PATH; it comes with"):
        compiler.disassembled(source, Binary(tmp_path / "x.cubin", "a" * 64, 0.0, cached=True))


@pytest.mark.gpu
def test_a_sweep_keeps_the_code_of_its_binaries(runner):
    """Each binary has its code with lines, and the page shows that of the fastest."""
    given = ("kernel=reduceShfl", "block=128,256", "size=1Mi", "device=cuda", "timing=quick")
    done = runner(*given)
    assert done.code == 0, done.err
    names = {row["binary"] for row in rows(done.folder)}
    texts = {name: (done.folder / "machine" / f"{name}.txt").read_text() for name in names}
    assert len(texts) == 2
    assert all(" @ reduceShfl.cu:" in text for text in texts.values())
    assert all(".entry reduceShfl" in (done.folder / "machine" / f"{name}.ptx").read_text() for name in names)
    page = (done.folder / "report.html").read_text()
    assert "Machine code of reduceShfl" in page
    assert ".entry reduceShfl" in page
