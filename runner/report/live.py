"""A page that updates while a sweep runs. The server accepts this machine only, and never writes to the folder."""

from __future__ import annotations

import html
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from runner.errors import UsageError
from runner.folder import RunFolder
from runner.report.findings import judge
from runner.report.page import rendered
from runner.report.table import load
from runner.runs import reading

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
WAITING = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Waiting</title><h1>Waiting for the first case</h1><p>{}</p></html>"""


def page(path: Path) -> str:
    """The page of the cases so far, without links to files and without static figures."""
    folder = RunFolder(path)
    at, running = state(path), folder.locked
    frame = load(path, newest=True)
    done, planned = frame[frame["status"] != "not_run"], len(frame)
    said = f"Running: {len(done):,} of {planned:,} cases so far. This page updates itself."
    if not running:
        said = "The sweep has ended."
    shown = done if running else frame
    return rendered(path, shown, judge(shown), live=(at, said)) if len(shown) else WAITING.format("")


def state(path: Path) -> str:
    """A text that changes with every new result."""
    folder = RunFolder(path)
    results = [folder.result(job) for job in folder.jobs()]
    times = [result.stat().st_mtime_ns for result in results if result.is_file()]
    return f"{len(times)}-{max(times, default=0)}-{folder.locked}"


def server(path: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of a run folder's page on this machine. Port 0 takes a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A page of another site may resolve its own name to this machine, so the name that was asked for counts.
            if self.headers.get("Host") not in [f"{name}:{serving.server_port}" for name in NAMES]:
                self.send_error(403, "This server answers to this machine alone")
            elif self.path in ("/", "/state"):
                try:
                    with reading(path):
                        text = page(path) if self.path == "/" else state(path)
                except UsageError as error:
                    text = WAITING.format(html.escape(str(error)))
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", f"text/{'html' if self.path == '/' else 'plain'}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)
            else:
                self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Say nothing of each request."""

    try:
        serving = ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: cannot listen there ({error}); leave it out for a free one") from None
    return serving
