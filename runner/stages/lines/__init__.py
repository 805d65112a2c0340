"""What each line of a kernel costs: `stage` counts it, `costs` reads and writes it (N/lines.json and lines.csv)."""
