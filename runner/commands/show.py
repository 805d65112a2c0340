"""`runner show KERNEL` prints its YAML merged with its family's. Without a name it lists kernels and experiments."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner.cli import Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Show a kernel or an experiment, or list all; returns the exit status."""
    parser = Parser("show", "Show the YAML of a kernel or an experiment; without a name, list what can be chosen.")
    parser.add_argument("name", nargs="?", help="a kernel or an experiment")
    parser.add_argument("--schema", action="store_true", help="the JSON schema of a kernel's YAML, for an editor")
    parser.add_argument("--config-dir", "-cd", metavar="DIR", help="the folder with your own kernel/NAME.yaml")
    parsed = parser.parse_args(arguments)
    if parsed.schema and parsed.name is not None:
        parser.error(f"--schema is the same for all kernels, so {parsed.name} cannot be given with it")
    if parsed.schema:
        return run_function("runner.kernel.yaml_schema:show")
    if parsed.name is None:
        return run_function("runner.compose.contents:show", parsed.config_dir)
    return run_function("runner.commands.kernel_yaml:show", parsed.name, parsed.config_dir)


if __name__ == "__main__":
    sys.exit(main())
