"""The parts of docs/ladder.md; `tools/ladder_page.py` puts them together."""
