"""The documents tell the truth: links lead somewhere, commands compose, tables are complete."""

import re
import shlex
from pathlib import Path

import pytest
from support import KERNELS, ROOT

from runner.columns import AFTER, COMMON
from runner.kernel.fill import FILLS
from runner.kernel.from_yaml import KEYS
from runner.kernel.parameters import VOCABULARY

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (python -m runner(?: .*?)?)(?:  +#.*)?$", README, re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(document):
    """A link to a file of the project finds it."""
    for target in re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), target


def test_the_readme_has_commands():
    """The pattern that finds the README's commands finds them."""
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize("command", [c for c in COMMANDS if "my_kernels" not in c and "runner " in c])
def test_every_command_of_the_readme_runs(command, runner):
    """What the README tells a newcomer to type runs; here with few elements, and on the CPU device."""
    done = runner(*shlex.split(command)[3:], "size=1000", "device=cpu")
    assert done.code == 0, done.err


def test_the_readmes_own_kernel_runs(runner, tmp_path):
    """The two files of the README, put where it says, run by the command that it gives."""
    blocks = re.findall(r"```(yaml|cuda)\n(.*?)```", README, re.DOTALL)
    (tmp_path / "my_kernels" / "kernel").mkdir(parents=True)
    for language, content in blocks:
        (tmp_path / "my_kernels" / "kernel" / f"saxpy.{'cu' if language == 'cuda' else 'yaml'}").write_text(content)
    (command,) = [c for c in COMMANDS if "my_kernels" in c]
    done = runner(*shlex.split(command)[3:], "device=cpu", "size=1000")
    assert done.code == 0, done.err
    assert (done.folder / "results.csv").read_text().count(",ok,") == 6


def words(path):
    """What stands in backticks."""
    text = re.sub(r"```.*?```", "", Path(path).read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]+)`", text))))


def test_every_column_is_documented():
    """docs/results.md has each column of the table."""
    assert {"case", "kernel", *COMMON, *AFTER} <= words(ROOT / "docs" / "results.md")


def test_every_key_of_a_kernel_is_documented():
    """docs/kernel-yaml.md has each key, each parameter and each fill."""
    assert {*KEYS, *VOCABULARY, *FILLS} <= words(ROOT / "docs" / "kernel-yaml.md")


def test_every_kernel_is_in_the_readme():
    """The README names each kernel that comes with the project."""
    assert set(KERNELS) <= set(re.findall(r"`(\w+)`", README))


def test_no_yaml_of_an_experiment_lacks_its_command():
    """An experiment starts with the command that runs it."""
    for path in (ROOT / "conf" / "experiment").glob("*.yaml"):
        assert f"python -m runner experiment={path.stem}" in path.read_text(encoding="utf-8")


def test_the_readmes_table_is_the_one_that_was_measured():
    """The listing in the README is that of docs/h200, which a command writes."""
    measured = (ROOT / "docs" / "h200" / "seeds.txt").read_text(encoding="utf-8").split("\n\n")[0]
    assert measured in README


def test_every_module_has_its_place():
    """CONTRIBUTING.md's table has each module of the program once, and none that is not there."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("| module |")[1].split("## Rules")[0]
    rows = [re.findall(r"`(\w+/?)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]
    inner = [f"{package}{name}" for package, *names in rows if package.endswith("/") for name in names]
    outer = {package for package, *_ in rows if package.endswith("/")}
    plain = [name for row in rows if not row[0].endswith("/") for name in row]
    told_in_full = {name.partition("/")[0] for name in inner}
    there = {p.stem for p in (ROOT / "runner").glob("*.py")} - {"__init__"}
    packages = {f"{p.parent.name}/" for p in (ROOT / "runner").glob("*/__init__.py")}
    modules = {f"{p.parent.name}/{p.stem}" for n in told_in_full for p in (ROOT / "runner" / n).glob("*.py")}
    assert (sorted(plain), outer) == (sorted(there), packages)
    assert sorted(inner) == sorted(name for name in modules if not name.endswith("__init__"))
    assert {"kernel", "sweep", "hydra"} <= told_in_full


LAYERS = ("device", "kernel", "sweep", "hydra")


def test_packages_depend_on_each_other_in_one_direction():
    """No module imports from a package further down the line; a report needs no Hydra, a comparison no report's reader."""
    wrong = []
    for path in sorted((ROOT / "runner").rglob("*.py")):
        package = path.relative_to(ROOT / "runner").parts[0]
        later = {
            **{name: (*LAYERS[n + 1 :], "report", "compare") for n, name in enumerate(LAYERS)},
            "report": ("hydra", "compare"),
            "compare": ("hydra", "sweep"),
        }.get(package, ())
        for found in re.findall(r"^\s*(?:from|import) runner\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            wrong += [f"{path.relative_to(ROOT)} imports runner.{found}"] if found in later else []
    assert wrong == []
