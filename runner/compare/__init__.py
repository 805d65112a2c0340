"""`python -m runner.compare outputs/A outputs/B`: what became of each case, and what may be the cause.

    arguments ─command─▶ folders ─runs, joining─▶ pairs of rows
    pairs, samples/ ─changes─▶ comparison, by the rule of runner.statistics
    comparison ─verdict─▶ sentences, exit status
               ─tables─▶ one table ─views─▶ terminal, page, CSV
               ─figure─▶ a picture in the page
    environments, sources/ ─causes─▶ what differs

Everything is made from the folders alone, which stay unchanged. The same folders give the same bytes.
"""
