"""Folders come from anywhere: whatever a name holds, the page shows it as text."""

import json
import re

import pytest
import report_runs as runs
from drawing import PageParts

from runner.report import build

SCRIPT = "<script>window.ran = 1; alert(1)</script>"
NAMES = {
    "script": SCRIPT,
    "image": "\"'><img src=x onerror='window.ran = 1'>",
    "style": "</style></title></pre></script><b onmouseover=alert(1)>bold</b>",
    "template": "{{ 7 * 7 }}{% raw %}${ran}",
    "long": "name" * 100,
    "chinese": "内核测试",
    "arabic": "نواة الاختبار",
    "emoji": "🚀🔥",
    "override": "\u202egnol\u2066\u200f",
    "escapes": "a\0b\x1b[31m\x07",
}
OPENED = ("script", "image", "style", "long", "override")
"""Those that a browser is shown; the others could only be tags, of which there are none."""

SHOWN = {
    **NAMES,
    "override": "\ufffdgnol\ufffd\ufffd",
    "escapes": "a\ufffdb\ufffd[31m\ufffd",
}


def evil_rows(name):
    """Cases that have the name wherever a row has text."""
    columns = ("kernel", "mask", "dtype", "pad", "reason", "value", "grid", "finish", "family", "baseline", "launcher")
    given = dict.fromkeys(columns, name)
    good = [runs.row(n, **given, block=64 << n) | runs.timing(9 + n, 2**24) for n in range(2)]
    return [*good, *(runs.row(2 + n, **given, status=status) for n, status in enumerate(("mismatch", name)))]


def evil_folder(run_folder, name):
    """A folder that has the name wherever a folder has text."""
    environment = {
        name: name, "command": f"python -m runner {name}", "git": {"commit": name, "dirty": name},
        "devices": {"cuda": {"name": name, "timing": {name: name}}, name: {"timing": {name: name}}},
    }  # fmt: skip
    folder = run_folder(evil_rows(name), environment=environment)
    for path in (folder / "0" / ".hydra", folder / "sources" / "conf"):
        path.mkdir(parents=True)
    (folder / "0" / ".hydra" / "config.yaml").write_text(name, "utf-8")
    (folder / "0" / "case.json").write_text(json.dumps({"kernel": name, "macros": {name: name}}))
    (folder / "sources" / "conf" / "config.yaml").write_text(name, "utf-8")
    return folder


@pytest.mark.browser
@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("name", [NAMES[key] for key in OPENED], ids=OPENED)
def test_no_name_is_obeyed(open_page, run_folder, name):
    """Scripts, styles and templates in names, values, reasons, statuses and environments do nothing, and are read."""
    page = open_page(build(evil_folder(run_folder, name)), viewport={"width": 390, "height": 844})
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    shown = next(SHOWN[key] for key, value in NAMES.items() if value == name)
    for place in ("h1", ".verdict", "#problems", "#repeat", "#fastest", "#cases", "#details"):
        assert shown[:20] in page.locator(place).first.inner_text()
    page.locator("#filter").fill(shown[:20].lower())
    assert page.locator("#cases output").inner_text() == "4 of 4 cases"
    page.get_by_role("button", name="kernel").click()
    assert page.evaluate("typeof window.ran") == "undefined"
    assert page.wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_all_of_them_make_no_tag(run_folder):
    """The page has its four scripts, one style and its own images; no override and no escape stands in it."""
    name = "".join(NAMES.values())
    folder = evil_folder(run_folder, name)
    (folder / "sources" / "kernels").mkdir()
    (folder / "sources" / "kernels" / "a.cu").write_bytes(b"</pre><script>alert(1)</script>\xff")
    text = build(folder).read_text("utf-8")
    found = PageParts(text).tags
    assert [found.count(tag) for tag in ("script", "style", "b")] == [4, 1, 0]
    assert found.count("img") == text.count('src="data:image/svg+xml,')
    assert not re.search("[\u200f\u202a-\u202e\u2066-\u2069\x1b\0\x07]", text)


def test_a_lone_surrogate_is_no_obstacle(run_folder):
    """What JSON can hold and UTF-8 cannot is replaced."""
    assert "\ufffd" in build(run_folder([runs.row()], environment={"lone": "\ud800"})).read_text("utf-8")
