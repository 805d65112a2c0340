"""The fixture through which tests open pages."""

import pytest

PAGE = """<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'; img-src 'none'">
<img src="other.png"><script>console.error("told"); throw new Error("thrown")</script>"""


@pytest.mark.browser
def test_every_error_of_a_page_is_noted(open_page, tmp_path):
    """What a script throws or writes to the console, and what the page's policy blocks, would fail the test."""
    (tmp_path / "page.html").write_text(PAGE)
    page = open_page(tmp_path / "page.html")
    page.wait_for_load_state()
    assert len(page.wrong) == 3, page.wrong
    assert all(any(words in text for text in page.wrong) for words in ("told", "thrown", "Content Security Policy"))
    page.wrong.clear()
