"""What each source line of a kernel costs: memory sectors, bank conflicts, divergent branches.

Door: `stage.LineCosts` counts on the checked CPU device; `costs` reads and writes N/lines.json and lines.csv.
Takes: correct cases. Gives: `LineCost` records, and averages as columns of results.csv.
What may not cross: nothing is launched on the measured device, and no status or time changes.
"""
