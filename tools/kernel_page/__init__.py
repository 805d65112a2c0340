"""The parts of docs/kernels.md and the pages below docs/kernels/; `tools/kernels_page.py` puts them together."""
