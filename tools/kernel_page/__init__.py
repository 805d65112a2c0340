"""The parts of docs/kernels.md; `tools/kernels_page.py` puts them together."""
