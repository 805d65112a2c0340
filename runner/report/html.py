"""Templates of pages: every text that enters one is escaped, and made harmless to read."""

from __future__ import annotations

from typing import Any

import jinja2
from markupsafe import Markup

from runner.report.text import plain


def template(name: str, *packages: str) -> jinja2.Template:
    """A page's template.

    Args:
        name: Of its file.
        packages: Those whose folder `template` has it and its parts; the first that has a file wins.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, "template") for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    return environment.get_template(name)


def _finalize(value: Any) -> Any:
    """Every text that enters the page, made harmless to read; what a macro returns has been through here already."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
