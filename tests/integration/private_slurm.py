"""A Slurm of one node that belongs to the test: munge, controller and node in a directory of their own."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

CONFIGURATION = """\
ClusterName=gh
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge/munge.sock
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmctldPort={controller}
SlurmdPort={node}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=500 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "scancel")


def why_not():
    """Why there can be none here, or nothing."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"{missing[0]} is not installed (scripts/setup.sh --test-all)"
    return "" if os.getuid() == 0 else "a node of one's own needs root rights"


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class PrivateSlurm:
    """with PrivateSlurm() as slurm: slurm.run("sbatch", …). Clients elsewhere need slurm.environment."""

    def __init__(self, cpus=2):
        self.cpus, self.processes = cpus, []

    def __enter__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ghhost-slurm-"))
        self.dir.chmod(0o755)
        for name in ("munge", "state", "spool", "log"):
            (self.dir / name).mkdir(mode=0o755)
        controller, node = free_ports(2)
        conf = self.dir / "slurm.conf"
        conf.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], dir=self.dir, cpus=self.cpus,
                                             controller=controller, node=node))
        self.environment = {**os.environ, "SLURM_CONF": str(conf)}
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        munge = self.dir / "munge"
        (munge / "munge.key").write_bytes(os.urandom(128))
        (munge / "munge.key").chmod(0o400)
        self.spawn("munged", "--foreground", f"--key-file={munge}/munge.key", f"--socket={munge}/munge.sock", f"--pid-file={munge}/pid",
                   f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.until(lambda: (munge / "munge.sock").exists())
        self.spawn("slurmctld", "-D", "-c")
        self.until(lambda: "is UP" in self.run("scontrol", "ping", check=False))
        self.spawn("slurmd", "-D")
        self.until(lambda: self.run("sinfo", "-h", "-o", "%t", check=False).strip() == "idle")

    def spawn(self, *command):
        log = open(self.dir / "log" / f"{command[0]}.out", "w")
        self.processes.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True))
        log.close()

    def run(self, *command, check=True):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=check, timeout=60).stdout

    def until(self, happened, seconds=60):
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end:
                logs = "\n".join(f"{log}:\n{log.read_text()[-2000:]}" for log in (self.dir / "log").iterdir())
                raise TimeoutError(f"nothing happened within {seconds} s\n{logs}")
            time.sleep(0.1)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
