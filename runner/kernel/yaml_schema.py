"""The JSON schema of a kernel's YAML, by which editors complete keys: the work of `runner show --schema`.

It is made of the tables of `runner.kernel.yaml_keys`, which the reader uses, too.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from runner.kernel import yaml_keys
from runner.kernel.yaml_keys import about, level, listed, one

DRAFT = "http://json-schema.org/draft-07/schema#"  # which every version of yaml-language-server takes


def show() -> None:
    """Print the schema."""
    sys.stdout.write(text())


def text() -> str:
    """The schema as JSON."""
    result = one({"required": ["reference"]}, {"required": ["no_output"]})
    schema = {
        "$schema": DRAFT,
        "title": "A kernel of kernel-runner",
        "description": "docs/kernel-yaml.md explains each key; the runner's own reader is the authority",
        # Hydra reads a list of defaults before the runner reads the rest.
        **level({**yaml_keys.KEYS, "defaults": about(listed({}), "Hydra's defaults list")}),
        # A family may have what the kernel lacks.
        "anyOf": [{"required": ["family"]}, {"required": ["defaults"]},
                  {"allOf": [{"required": ["parameters", "arguments"]}, result]}],
        "definitions": dict(yaml_keys.DEFINITIONS),
    }  # fmt: skip
    return _lines(schema, 2) + "\n"


def _lines(content: Any, levels: int) -> str:
    """JSON with a line for each entry of the first levels, so that a changed key is a changed line."""
    if not levels or not isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    indent = " " * (3 - levels)
    entries = (f"{indent}{json.dumps(key)}: {_lines(value, levels - 1)}" for key, value in content.items())
    return "{\n" + ",\n".join(entries) + f"\n{indent[1:]}}}"
