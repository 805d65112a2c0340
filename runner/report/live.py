"""`runner report --live`: a page of the cases so far, which updates while the sweep runs.

The server answers this machine only, and writes nothing.
"""

from __future__ import annotations

import html
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from runner.cli import say
from runner.errors import UsageError
from runner.record import runs
from runner.record.folder import RunFolder
from runner.record.run import read
from runner.record.shards import running
from runner.report.findings import judge
from runner.report.page import render

HOST = "127.0.0.1"
HOST_NAMES = (HOST, "localhost")
WAITING_PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Waiting</title><h1>Waiting for the first case</h1><p>{}</p></html>"""


def serve(folder: Path, port: int) -> int:
    """Serve until Ctrl-C. Returns the exit status."""
    with server(folder, port) as http_server:
        say(f"http://{HOST}:{http_server.server_port}/ shows {folder} while the sweep runs; stop with Ctrl-C", 0)
        http_server.serve_forever()
    return 0


def page(path: Path) -> str:
    """Render the page of the cases so far, without links to files and without static figures."""
    token, is_running = state(path), running(RunFolder(path))  # it may end while it is read
    run, message = read(path, newest=True), "The sweep has ended."
    if is_running:
        planned, run = len(run.frame), run.part(run.frame[run.frame["status"] != "not_run"])
        message = f"Running: {len(run.frame):,} of {planned:,} cases so far. This page updates itself."
    return render(run, judge(run), live=(token, message)) if len(run.frame) else WAITING_PAGE.format("")


def state(path: Path) -> str:
    """Return a text that changes with every new result."""
    folder = RunFolder(path)
    results = [folder.result(job) for job in folder.jobs()]
    times = [result.stat().st_mtime_ns for result in results if result.is_file()]
    return f"{len(times)}-{max(times, default=0)}-{running(folder)}"


def server(path: Path, port: int = 0) -> ThreadingHTTPServer:
    """Make a server of a run folder's page on this machine; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # Check the requested host name: another site may resolve its name to this machine (DNS rebinding).
            if self.headers.get("Host") not in [f"{name}:{http_server.server_port}" for name in HOST_NAMES]:
                self.send_error(403, "This server answers requests from this machine only")
            elif self.path in ("/", "/state"):
                try:
                    with runs.reading(path):
                        text = page(path) if self.path == "/" else state(path)
                except UsageError as error:
                    text = WAITING_PAGE.format(html.escape(str(error)))
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
            """Do not log requests."""

    try:
        http_server = ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: cannot listen on it ({error}); leave it out for a free one") from None
    return http_server
