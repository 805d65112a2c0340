"""`python -m runner compare outputs/A outputs/B`: how each case changed, and the possible causes.

    arguments, folders ─sides─▶ baseline and runs, what is left out
    runs ─runs, changes─▶ comparison, by the rule of runner.statistics
    lines.csv ─counted─▶ what memory accesses and branches cost, fewer or more
    environments, sources/ ─causes─▶ what differs
    comparison ─views─▶ sentences, exit status, CSV ─terminal, page─▶ two runs in full, several as a `matrix`
               ─figure─▶ a picture in the page

Door: `__main__.main` for commands; `runs.read`, `runs.united`, `changes.compare` and `views` for Python.
Takes: run folders. Gives: a comparison, its sentences, table, page and exit status.
What may not cross: everything is made from the folders alone, which stay unchanged. The same folders give the same
bytes.
"""
