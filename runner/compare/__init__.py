"""`python -m runner.compare outputs/A outputs/B`: what became of each case, and what may be the cause.

    arguments, folders ─runs─▶ pairs of rows
    pairs, samples/ ─changes─▶ comparison, by the rule of runner.statistics
    environments, sources/ ─causes─▶ what differs
    comparison ─views─▶ sentences, exit status, terminal, table, page
               ─figure─▶ a picture in the page

Everything is made from the folders alone, which stay unchanged. The same folders give the same bytes.
"""
