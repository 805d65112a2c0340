"""The pages of the site that are not below docs/: changes, contributing, the gallery, and linked sources.

A hook of MkDocs; mkdocs.yml names it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gallery
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
"""Documents beside docs/, and their names in the site."""
LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".yaml": "yaml", ".py": "python"}
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
TITLED = re.compile(r"^( *```\w+) (\S+)$", re.MULTILINE)  # a block that is a file, with its path
OF_README = re.compile(r"<!-- of README.md: (.+) -->")  # in docs/index.md, where the site's first page has that section
LISTING = "files.md"
"""The page of a folder that a page links to: the list of its files."""
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages. Called by MkDocs."""
    for name, place in PAGES.items():
        if place != "index.md":
            text = (ROOT / name).read_text(encoding="utf-8")
            files.append(File.generated(config, place, content=HIDDEN + _moved(text, name, place)))
    files.append(File.generated(config, "gallery.md", content=gallery.page()))
    for path in [*gallery.FOLDER.glob("*.html"), *gallery.FOLDER.glob("*.png")]:
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    docs = Path(config.docs_dir)
    for folder in sorted(_linked_folders(docs)):
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
        content = f"# {folder.name}\n\n" + "".join(f"- [{name}]({name})\n" for name in names)
        files.append(File.generated(config, f"{folder.relative_to(docs).as_posix()}/{LISTING}", content=content))
    for source in sorted(_linked(docs)):
        path = source.relative_to(ROOT)
        code = f"```{LANGUAGES.get(source.suffix, 'text')}\n{source.read_text(encoding='utf-8').rstrip()}\n```\n"
        files.append(File.generated(config, _page_of(path), content=f"{HIDDEN}# {path.as_posix()}\n\n{code}"))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let the links of a page lead to the site's pages. Called by MkDocs."""
    place = page.file.src_uri
    if place == "index.md":
        readme = _moved((ROOT / "README.md").read_text(encoding="utf-8"), "README.md", place)
        markdown = OF_README.sub(lambda found: _section(readme, found[1]), markdown)
    markdown = TITLED.sub(r'\1 title="\2"', markdown)
    return markdown if place in PAGES.values() else _moved(markdown, f"docs/{place}", place)


def _section(text: str, heading: str) -> str:
    """A section of a page, with its heading."""
    _, _, rest = text.partition(f"## {heading}\n")
    return f"## {heading}\n{rest.partition('## ')[0]}"


def _linked(docs: Path) -> set[Path]:
    """The files outside docs/ that its pages link to, apart from `PAGES`."""
    own = {ROOT / name for name in PAGES}
    return {path for path in _targets(docs) if path.is_file() and not path.is_relative_to(docs)} - own


def _linked_folders(docs: Path) -> set[Path]:
    """The folders below docs/ that its pages link to."""
    return {path for path in _targets(docs) if path.is_dir()}


def _targets(docs: Path) -> Iterator[Path]:
    """What the documents link to."""
    for document in [*docs.rglob("*.md"), *(ROOT / name for name in PAGES)]:
        for target, _ in LINK.findall(document.read_text(encoding="utf-8")):
            yield Path(posixpath.normpath((document.parent / target).as_posix()))


def _moved(text: str, name: str, place: str) -> str:
    """The text of the document `name`, whose page is at `place`, with links to the site's pages."""

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[1]))
        page = PAGES.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else "")
        page = page or _page_of(Path(target))
        page += f"/{LISTING}" * (ROOT / target).is_dir()
        return f"]({posixpath.relpath(page, posixpath.dirname(place) or '.')}{found[2] or ''})"

    return LINK.sub(link, text)


def _page_of(source: Path) -> str:
    return f"sources/{source.as_posix()}.md"
