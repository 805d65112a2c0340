"""`python -m runner.compare outputs/A outputs/B`: how each case changed, and the possible causes.

    arguments, folders ─runs─▶ pairs of rows
    pairs, samples/ ─changes─▶ comparison, by the rule of runner.statistics
    environments, sources/ ─causes─▶ what differs
    comparison ─views─▶ sentences, exit status, terminal, table, page
               ─figure─▶ a picture in the page

Door: `__main__.main` for commands; `runs.read`, `runs.united`, `changes.compare` and `views` for Python.
Takes: run folders. Gives: a comparison, its sentences, table, page and exit status.
What may not cross: everything is made from the folders alone, which stay unchanged. The same folders give the same
bytes.
"""
