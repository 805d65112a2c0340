"""A Slurm of two nodes on this machine: slurmctld, two slurmd and munged in a temporary folder, on free ports.

Each node has two pretend GPUs: device files that are /dev/null. Accounting is off; the program asks `squeue`.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

NEEDED = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scontrol", "scancel")
START_S = 60.0
TEMPLATE = Path(__file__).with_name("slurm.conf")


def missing():
    """Why no Slurm can be started here; empty if one can."""
    paths = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    if absent := [name for name in NEEDED if not shutil.which(name, path=paths)]:
        return f"Slurm is not installed: there is no {absent[0]}"
    return "" if os.geteuid() == 0 else "only root can start Slurm's daemons"


class Cluster:
    """The daemons, and commands to them."""

    def __init__(self, folder):
        """Start in an empty folder that others may enter, and wait until both nodes are idle."""
        self.folder = Path(folder)
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.environment["PATH"] += f"{os.pathsep}/usr/sbin"
        self._daemons = {}
        for name in ("state", "spool_n1", "spool_n2", "munge", "gpus"):
            (folder / name).mkdir()
        host = socket.gethostname().partition(".")[0]
        content = TEMPLATE.read_text().format(folder=folder, host=host, ports=free_ports(3))
        (folder / "slurm.conf").write_text(content)
        for number in range(4):
            os.mknod(folder / "gpus" / f"gpu{number}", 0o020666, os.makedev(1, 3))
        files = [f"NodeName=n{n + 1} Name=gpu File={folder}/gpus/gpu[{2 * n}-{2 * n + 1}]\n" for n in range(2)]
        (folder / "gres.conf").write_text("".join(files))
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        options = [f"--{name}={folder}/munge/{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file")]
        self._start("munged", "--foreground", "--force", f"--key-file={key}", f"--seed-file={folder}/seed", *options)
        self._wait((folder / "munge" / "socket").exists)
        self._start("slurmctld", "-D", "-i")
        for node in ("n1", "n2"):
            self.start_node(node)
        self._wait(lambda: self.ask("sinfo", "-h", "-N", "-p", "gpus", "-o", "%T").split() == ["idle"] * 2)

    def start_node(self, name):
        """Start a node's daemon."""
        self._start("slurmd", "-D", "-N", name, called=name)

    def lose_node(self, name):
        """End a node's daemon and all processes of its jobs, as when it loses power."""
        self._daemons[name].kill()
        self._daemons[name].wait()
        marks = (f"SLURM_CONF={self.folder}".encode(), f"SLURMD_NODENAME={name}".encode())
        found = {}  # pids of the jobs' processes, with their parents: nobody may live to tell that a process ended
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if all(mark in (path / "environ").read_bytes() for mark in marks):
                    found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        steps = {pid for pid in found.values() if Path(f"/proc/{pid}/comm").read_text() == "slurmstepd\n"}
        for pid in (*steps, *found):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.ask("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=test")

    def stop_controller(self):
        """End slurmctld. The tasks run on."""
        self._daemons["slurmctld"].terminate()
        self._daemons["slurmctld"].wait(START_S)

    def start_controller(self):
        """Start it again, with the jobs that it had."""
        self._start("slurmctld", "-D")

    def ask(self, *command):
        """What a command of Slurm prints; empty if it fails."""
        done = subprocess.run(command, env=self.environment, check=False, capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else ""

    def close(self):
        """Cancel all jobs, and end the daemons."""
        self.ask("scancel", "--user=root", "--full")
        deadline = time.monotonic() + 20
        while self.ask("squeue", "-h") and time.monotonic() < deadline:
            time.sleep(0.2)
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
        for daemon in self._daemons.values():
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _start(self, *command, called=""):
        name = called or command[0]
        with (self.folder / f"{name}.out").open("ab") as log:
            self._daemons[name] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def _wait(self, reached):
        deadline = time.monotonic() + START_S
        while not reached():
            ended = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                said = {p.name: p.read_text(errors="replace")[-800:] for p in self.folder.glob("*.out")}
                self.close()
                raise RuntimeError(f"Slurm does not start; ended: {ended}; {said}")
            time.sleep(0.1)


def free_ports(count):
    """Ports that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
