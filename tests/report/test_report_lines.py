"""The annotated source: what each line costs and where hazards were found, from a lines.csv written here."""

import json
import shutil

import pytest
import report_runs as runs
from PIL import Image  # noqa: F401

from runner import lines
from runner.lines import LineCost
from runner.report import build
