"""`python -m runner.compare outputs/A outputs/B`: what became of each case, and what may be the cause.

    arguments ─choosing─▶ folders ─loading, pooling─▶ runs ─joining─▶ pairs
    pairs ─sides─▶ times of rounds ─difference, decision─▶ words ─changes─▶ comparison
    comparison ─verdict─▶ sentences, exit status
               ─entries─▶ one table ─terminal, cells, page─▶ console, HTML, CSV
               ─figure─▶ a picture in the page
    environments, sources, comparison ─kinds, causes─▶ what differs

Everything is made from the folders alone, which are left as they are. The same folders give the same bytes.
"""
