"""The lane picture: which lane's register each lane received, drawn from what was measured.

rows ─steps─▶ steps ─choice─▶ plots ─layout, marks, legend─▶ picture
"""
