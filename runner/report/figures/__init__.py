"""The figures of a report: chosen by what varies, then drawn. Nothing in here writes a file.

Each figure has a module that chooses what it holds (pure, no drawing) and one that draws it, its picture:

    frame ──choose──▶ time_plots, heat_map, speedup, status_grid, raw ──drawing──▶ ..._picture ──saving──▶ svg, png, csv
"""
