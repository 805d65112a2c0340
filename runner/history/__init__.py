"""`runner history`: the cases of many runs over time and commits, and the steps between them.

    folders ─summary─▶ what is kept of each run ─index─▶ .history.sqlite
    summaries ─steps─▶ a line for each case, with its real steps, by the rule of `runner.compare`
    lines, words ─words─▶ the lines that match
    lines ─page─▶ index.html

Door: `__main__.main` for commands; `summary.read` and `words` for `runner list`.
Takes: folders of run folders. Gives: a page, and a summary in the terminal.
What may not cross: run folders are only read. The index may be deleted at any time; with and without it the same
folders give the same page.
"""
