"""The syntax of CUDA sources in colours, as HTML; see template/page.css for the classes."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape
from pygments.lexers.c_like import CudaLexer
from pygments.token import Comment, Keyword, Literal, Name

from runner.display.text import plain

CLASSES = (
    (Comment.Preproc, "preprocessor"), (Comment, "comment"), (Keyword, "keyword"), (Name.Builtin, "keyword"),
    (Literal.String, "string"), (Literal.Number, "number"),
)  # fmt: skip

MAX_LENGTH = 100_000  # characters; longer texts stay without colours


def highlighted(lines: Sequence[str]) -> list[Markup]:
    """Each line of a source as HTML, without control characters."""
    text = "\n".join(map(plain, lines))
    if len(text) > MAX_LENGTH:
        return [escape(line) for line in text.split("\n")]
    done = [Markup()]
    for kind, value in CudaLexer(stripnl=False, ensurenl=False).get_tokens(text):
        name = next((name for token, name in CLASSES if kind in token), "")
        for number, part in enumerate(value.split("\n")):
            done += [Markup()] * (number > 0)
            done[-1] += Markup('<i class="{}">{}</i>').format(name, part) if name and part else escape(part)
    return done
