"""`python -m runner.compare outputs/A outputs/B`: what became of each case, and what may be the cause.

    folders ─loading─▶ runs ─joining─▶ pairs ─sides─▶ times ─decision─▶ words ─changes─▶ comparison
    comparison ─verdict─▶ sentences, exit status
               ─entries─▶ one table ─terminal, cells, figure, page─▶ console, HTML, CSV
    environments, sources, comparison ─causes─▶ what differs

Everything is made from the folders alone, which are left as they are. The same folders give the same bytes.
"""
