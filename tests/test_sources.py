"""What a sweep is made of: kept beside it, and noticed when it changes."""

import json
import shutil
import subprocess

import pandas as pd
import pytest
from processes import OWN, resume
from support import MINE_CU, mine_yaml


@pytest.fixture
def own(tmp_path):
    """A folder with a kernel that includes a file by a macro, and whose reference imports another module."""
    return shutil.copytree(OWN / "kept_sources", tmp_path / "own") / "kernel"


def status(done):
    """The statuses of a sweep's rows."""
    return list(pd.read_csv(done.folder / "results.csv")["status"])


def test_a_file_that_a_macro_includes_is_looked_at(own, runner, tmp_path):
    """When a header that only a macro names has changed, the kernel is compiled anew, and is wrong."""
    first = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=first")
    assert (first.code, list(pd.read_csv(tmp_path / "first" / "results.csv")["status"])) == (0, ["ok"])
    (own / "number.cuh").write_text("#define NUMBER 7\n")
    again = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=again")
    assert (again.code, list(pd.read_csv(tmp_path / "again" / "results.csv")["status"])) == (1, ["mismatch"])


def test_everything_that_is_needed_is_kept(own, runner, tmp_path):
    """With its own folder gone, a kernel runs again from what was kept: headers above it and the reference's modules."""
    (own / "number.cuh").rename(own.parent / "number.cuh")
    source = own / "numbers.cu"
    text = source.read_text().replace('#define HEADER "number.cuh"\n#include HEADER', '#include "../number.cuh"')
    source.write_text(text)
    done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu")
    assert status(done) == ["ok"]
    own.parent.rename(tmp_path / "gone")
    kept = str((done.folder / "sources" / "conf").absolute())
    again = runner("--config-path", kept, "kernel=numbers", "device=cpu", "hydra.sweep.dir=again")
    assert again.code == 0, again.err


def test_a_kernel_that_hydra_composes_of_two_files_is_kept_whole(own, runner, tmp_path):
    """A YAML with a list of defaults is kept as it was composed, so that it can be read without Hydra."""
    (own / "common.yaml").write_text((own / "numbers.yaml").read_text())
    (own / "numbers.yaml").write_text("defaults: [common]\nsummary: numbers\n")
    done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=first")
    assert done.code == 0, done.err
    own.parent.rename(tmp_path / "gone")
    (tmp_path / "first" / "0" / "result.json").unlink()
    again = resume(tmp_path, "first")
    assert again.returncode == 0, again.stderr


def test_earlier_sweeps_on_the_search_path_are_not_kept(own, runner, tmp_path):
    """With outputs/ in the folder of the kernels, each sweep keeps the same files, not those of the sweeps before."""
    counts = []
    for number in range(3):
        folder = own.parent / "outputs" / str(number)
        done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", f"hydra.sweep.dir={folder}")
        assert done.code == 0, done.err
        counts.append(len(list((folder / "sources").rglob("*"))))
    assert len(set(counts)) == 1


def test_an_included_file_from_elsewhere_stays_there(runner, tmp_path):
    """A run folder has only what lies below the configuration folder, the source's and those of `include`; it names the rest."""
    folder, near = tmp_path / "k" / "kernel", tmp_path / "near"
    folder.mkdir(parents=True)
    near.mkdir()
    (tmp_path / "secret.h").write_text("#define UNSEEN 1\n")
    (near / "near.h").write_text("#define NEAR 1\n")
    (folder / "link.h").symlink_to(tmp_path / "secret.h")
    lines = f'#include "{tmp_path}/secret.h"\n#include "../../secret.h"\n#include "link.h"\n#include "near.h"\n'
    (folder / "mine.cu").write_text(lines + MINE_CU)
    (folder / "mine.yaml").write_text(mine_yaml() + "include: [../../near]\n")
    done = runner("--config-dir=k", "kernel=mine", "device=cpu", "hydra.sweep.dir=out")
    assert done.code == 0, done.err
    kept = {path.name for path in (tmp_path / "out" / "sources").rglob("*") if path.is_file()}
    assert "near.h" in kept
    assert not {"secret.h", "link.h"} & kept
    sentence = "outside the kernel's folders and those of `include`: secret.h."
    assert sentence in done.out, done.out
    assert b"UNSEEN" not in b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())


def test_a_kernel_outside_of_a_commit_is_told(runner, tmp_path):
    """A folder in no repository, an untracked file and a changed one are named; a committed kernel is not."""
    folder = tmp_path / "k" / "kernel"
    folder.mkdir(parents=True)
    (folder / "mine.cu").write_text(MINE_CU)
    (folder / "mine.yaml").write_text(mine_yaml())
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b")

    def told(name):
        done = runner("--config-dir=k", "kernel=mine", "device=cpu", f"hydra.sweep.dir={name}")
        assert done.code == 0, done.err
        known = json.loads((tmp_path / name / "environment.json").read_text()).get("sources", {})
        page = (tmp_path / name / "report.html").read_text()
        return known.get("unversioned", []), known.get("uncommitted", []), "uncommitted changes in mine" in page

    assert told("a") == (["mine.cu", "mine.yaml"], [], False)
    assert "not under version control: mine.cu and mine.yaml" in (tmp_path / "a" / "report.html").read_text()
    for command in (["init", "-q"], ["add", "k/kernel/mine.cu"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    assert told("b") == ([], ["mine.yaml"], True)
    for command in (["add", "k"], ["commit", "-qm", "two"]):
        subprocess.run([*git, *command], check=True)
    assert told("c") == ([], [], False)
    (folder / "mine.cu").write_text(MINE_CU + "// changed\n")
    assert told("d") == ([], ["mine.cu"], True)
