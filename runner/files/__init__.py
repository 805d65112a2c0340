"""Files that others may have made: read within limits, without following links; and files that are written whole."""
