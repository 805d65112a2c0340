"""`python -m runner` many times over: a process that has imported it once, and forks for each command line.

It reads requests from its standard input and answers on its standard output, one line of JSON each. A fork is a process of
its own, with Hydra as fresh as at the start; only the half second of imports is spared.
"""

import importlib
import json
import os
import sys
import tempfile

import runner.hydra.app


def answer(request: dict) -> dict:
    """Run one command line in a child, and say what it left."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.chdir(request["directory"])
            os.environ.update(request["environment"])
            sys.argv = [runner.hydra.app.__file__, *request["arguments"]]
            sys.exit(importlib.import_module(request["module"]).main())
        _, status = os.waitpid(child, 0)
        told = {}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            told[name] = file.read().decode(errors="replace")
    return {"code": os.waitstatus_to_exitcode(status), **told}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)  # noqa: T201
