"""What benchmarks share: building their programs, a Python that has the peers, programs that answer lines, and turns."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
BOUND = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}  # threads that wake up on one core would share it for a while


def build(*targets):
    if not (BUILD / "build.ninja").exists():
        sys.exit("there is no build directory; run make build first")
    done = subprocess.run(["cmake", "--build", BUILD, "--target", *targets], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"building {' '.join(targets)} failed:\n{done.stdout[-4000:]}{done.stderr}")


def become_peer_python(name, packages=None, imports=()):
    """Goes on in GH_BENCH_PYTHON, or in one of our own with these packages in .cache/bench-NAME; without packages in .venv's."""
    if os.environ.get("GH_BENCH_STARTED") == name:
        return
    given = os.environ.get("GH_BENCH_PYTHON")
    if given:
        python = shutil.which(given) or sys.exit(f"GH_BENCH_PYTHON={given} is no program")
    elif packages is None:
        python = shutil.which(ROOT / ".venv/bin/python") or \
            sys.exit("there is no .venv; set GH_BENCH_PYTHON to a Python with torch and numpy")
    else:
        python = str(ROOT / f".cache/bench-{name}/bin/python")
        found = pathlib.Path(python).exists() and \
            subprocess.run([python, "-c", f"import {', '.join(imports)}"], capture_output=True).returncode == 0
        if not found:
            print(f"getting the peers into .cache/bench-{name}", flush=True)
            subprocess.run([sys.executable, "-m", "venv", "--clear", ROOT / f".cache/bench-{name}"], check=True)
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            if subprocess.run(install).returncode != 0:
                sys.exit("the peers could not be installed")
    sys.stdout.flush()
    os.execve(python, [python, sys.argv[0], *sys.argv[1:]], os.environ | {"GH_BENCH_STARTED": name})


class Program:
    """A program that answers each line with a line of JSON."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | environment)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def in_turn(rounds, pause=0.0, **sides):
    """name → what side(round) returned; the sides take turns, each after a pause in which the other's threads fall asleep."""
    values = {name: [] for name in sides}
    for i in range(rounds):
        for name, measure in sides.items():
            time.sleep(pause)
            values[name].append(measure(i))
    return values
