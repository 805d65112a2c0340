"""Safe access to files: untrusted ones are read within limits and without following links; writes are atomic.

The package knows paths and formats (JSON, CSV, YAML) and no content.
"""
