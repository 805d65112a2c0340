"""`python -m runner.report outputs/X`: rebuild figures, page and summary from the folder alone, on any machine.

With --live, it serves a page that updates while a sweep runs. The server answers this machine only, and writes nothing.
"""

from __future__ import annotations

import csv
import html
import sys
from argparse import Namespace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from runner.cli import Parser, run_command, say
from runner.errors import UsageError
from runner.files.limited import TooMuch, read_csv
from runner.record import runs
from runner.record.folder import RunFolder

HOST = "127.0.0.1"
HOST_NAMES = (HOST, "localhost")
WAITING_PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Waiting</title><h1>Waiting for the first case</h1><p>{}</p></html>"""


def main(arguments: list[str] | None = None) -> int:
    """Rebuild the report of a run folder. Returns the exit status."""
    parser = Parser("report", "Rebuild the report of a run folder.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    alone, md = "write only the page, to FILE, without links to the folder", "md: print a summary for a pull request"
    live = "serve a page on this machine that updates while a sweep runs"
    parser.add_argument("--to", type=Path, metavar="FILE", help=alone)
    parser.add_argument("--format", choices=["html", "md"], default="html", help=md)
    parser.add_argument("--live", action="store_true", help=live)
    parser.add_argument("--port", type=int, default=0, help="port of --live (default: a free one)")
    options = parser.parse_args(arguments)
    return run_command(lambda: _report(options))


def _report(options: Namespace) -> int:
    from runner.display.terminal import Console  # noqa: PLC0415
    from runner.record.shards import running  # noqa: PLC0415
    from runner.report import as_markdown, publish, publish_alone  # noqa: PLC0415

    name = options.folder
    if options.to and (options.live or options.format == "md"):
        raise UsageError(f"--to {options.to}: writes a page, so leave out --live and --format md")
    if options.live and options.format == "md":
        raise UsageError("--live serves a page: leave out --format md")
    if options.port and not options.live:
        raise UsageError(f"--port {options.port}: only --live has a port")
    folder = Path(name) if Path(name).is_dir() else runs.find_one(name)
    with runs.reading(name):
        if options.live:
            return _serve(folder, options.port)
        if options.format == "md":
            sys.stdout.write(as_markdown(folder))
            return 0
        if options.to:
            RunFolder(folder).refuse_to_replace(options.to)
        _bring_up_to_date(RunFolder(folder))
        if options.to:
            publish_alone(folder, options.to)
            sys.stdout.write(f"Written: {options.to}\n")
        else:
            publish(folder, Console())
        if running(RunFolder(folder)):
            say(f"{name}: the sweep is still running, so the report is incomplete", 0)
    return 0


def _serve(folder: Path, port: int) -> int:
    with server(folder, port) as http_server:
        say(f"http://{HOST}:{http_server.server_port}/ shows {folder} while the sweep runs; stop with Ctrl-C", 0)
        http_server.serve_forever()
    return 0


def _bring_up_to_date(folder: RunFolder) -> None:
    """Rebuild the table from the jobs' rows, since the table of a killed sweep may be older.

    A table with rows of jobs whose folders are missing stays: the run folder was passed on without them.
    """
    from runner.record import stored_rows  # noqa: PLC0415
    from runner.record.shards import merge  # noqa: PLC0415

    merge(folder)
    rows = stored_rows.collect(folder)
    if rows and _jobs_of_table(folder) <= {str(row["job"]) for row in rows}:
        stored_rows.write(folder, rows)


def _jobs_of_table(folder: RunFolder) -> set[str]:
    try:
        head, *rows = read_csv(folder.read(folder.results))
        column = head.index("job")
        return {row[column] for row in rows if len(row) > column and row[column]}  # a torn line lacks the job
    except TooMuch as e:
        raise UsageError(f"{folder.results}: {e}") from None
    except (OSError, ValueError, csv.Error):
        return set()


def page(path: Path) -> str:
    """Render the page of the cases so far, without links to files and without static figures."""
    from runner.record.run import read  # noqa: PLC0415
    from runner.record.shards import running  # noqa: PLC0415
    from runner.report.findings import judge  # noqa: PLC0415
    from runner.report.page import render  # noqa: PLC0415

    token, is_running = state(path), running(RunFolder(path))  # it may end while it is read
    run, message = read(path, newest=True), "The sweep has ended."
    if is_running:
        planned, run = len(run.frame), run.with_frame(run.frame[run.frame["status"] != "not_run"])
        message = f"Running: {len(run.frame):,} of {planned:,} cases so far. This page updates itself."
    return render(run, judge(run), live=(token, message)) if len(run.frame) else WAITING_PAGE.format("")


def state(path: Path) -> str:
    """Return a text that changes with every new result."""
    from runner.record.shards import running  # noqa: PLC0415

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


if __name__ == "__main__":
    raise SystemExit(main())
