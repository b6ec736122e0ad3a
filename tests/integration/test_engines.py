#!/usr/bin/env python3
"""Workers handed to engines: what is printed for each, and a real Slurm and GNU parallel that run them."""
import json
import os
import re
import shutil
import subprocess
import time
import unittest

import private_slurm
from ghhost_case import GHHOST, SOURCE, GhhostCase

ENGINES = SOURCE / "recipes/engines"


class EngineCase(GhhostCase):
    def setUp(self):
        super().setUp()
        self.study = self.dir / "my-study"
        self.study.mkdir()

    def submission(self, engine, *arguments):
        """What would be handed over: file, its text, and the command for sh."""
        shown = self.ghhost("study", "submit", self.study, "--engine", ENGINES / f"{engine}.toml", "--print", *arguments).stdout
        file, text, command = re.fullmatch(r"# (\S+)\n(.*)\n# sh\n(.*)", shown, re.S).groups()
        return file, text, command

    def hand_over(self, engine, worker, *arguments, env=None):
        """Submits with a stand-in for ghhost, a shell script."""
        program = self.write("stand-in", f"#!/bin/sh\n{worker}\n")
        program.chmod(0o755)
        file, text, command = self.submission(engine, *arguments)
        self.assertIn(str(GHHOST), text)
        (self.study / "engine").mkdir()
        (self.study / "engine" / file.rsplit("/")[-1]).write_text(text.replace(str(GHHOST), str(program)))
        (self.study / "log").touch()
        done = subprocess.run(["sh", "-c", command.replace(str(GHHOST), str(program))], cwd=self.dir, env=env, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def log(self):
        return (self.study / "log").read_text().splitlines()

    def until(self, happened, seconds=60):
        end = time.monotonic() + seconds
        while not happened():
            self.assertLess(time.monotonic(), end, self.log())
            time.sleep(0.05)


class Printed(EngineCase):
    def test_every_engine_can_be_filled_in(self):
        engines = sorted(file.stem for file in ENGINES.glob("*.toml"))
        self.assertEqual(engines, ["gridengine", "htcondor", "kubernetes", "parallel", "slurm"])
        for engine in engines:
            with self.subTest(engine):
                file, text, command = self.submission(engine, "--workers", "8", "--limit", "3")
                self.assertEqual(re.findall(r"@[a-z_]+@", text + command), [])
                for part in (str(GHHOST), str(self.study)):
                    self.assertIn(part, text)
                self.assertTrue(file.startswith(f"{self.study}/engine/"))
                self.assertIn(file, command)
        self.assertEqual(list(self.study.iterdir()), [])

    def test_numbers_limits_and_exit_codes_are_where_engines_look(self):
        expected = {
            "slurm": ["#SBATCH --array=0-7%3\n", "#SBATCH --time=4:00:00\n", "75) exec scontrol requeue ${SLURM_ARRAY_JOB_ID}_"],
            "gridengine": ["#$ -t 1-8\n", "#$ -tc 3\n", "#$ -l h_rt=4:00:00\n", "75) exit 99 ;;"],
            "htcondor": ["\nqueue 8\n", "max_materialize = 3\n", "(ExitCode != 75)", f"arguments = study work {self.study}\n"],
            "kubernetes": ["completions: 8\n", "parallelism: 3\n", "values: [75]", "values: [64, 65, 66, 78]", "  generateName: my-study-\n"],
            "parallel": [f"exec {GHHOST} study work {self.study}\n"],
        }
        for engine, lines in expected.items():
            with self.subTest(engine):
                text = self.submission(engine, "--workers", "8", "--limit", "3", *(["time=4:00:00"] if "=4:00:00" in "".join(lines) else []))[1]
                for line in lines:
                    self.assertIn(line, text)

    def test_plugins_that_were_named_are_named_to_workers(self):
        shown = self.ghhost("--plugin", SOURCE / "recipes", "study", "submit", self.study, "--engine", ENGINES / "parallel.toml", "--print").stdout
        self.assertIn(f"{GHHOST} --plugin {SOURCE / 'recipes'} study work", shown)

    def test_the_command_is_run_and_its_exit_code_is_ours(self):
        engine = self.write("own.toml", 'name = "own"\nfile = "job"\ntext = "@workers@"\nsubmit = "cat @file@; exit @code@"\n[values]\ncode = "0"\n')
        submit = ["study", "submit", self.study, "--engine", engine, "--workers", "4"]
        self.assertEqual(self.ghhost(*submit).stdout, "4")
        self.assertEqual((self.study / "engine/job").read_text(), "4")
        self.ghhost(*submit, "code=7", expect=7)

    def test_an_engine_is_checked_like_a_recipe(self):
        for text, told in (('text = "@wrokers@"', "@wrokers@"), ('text = ""\ntxt = ""', "did you mean 'text'"), ('text = ""\n[exit]\n300 = ""', "exit code")):
            own = self.write("own.toml", 'name = "own"\nfile = "job"\nsubmit = ""\n' + text + "\n")
            self.assertIn(told, self.ghhost("check", own, expect=78).stderr)
        self.ghhost("check", ENGINES / "slurm.toml", "time=1", expect=64)

    def test_mistakes_are_told(self):
        own = self.write("own.toml", 'name = "own"\nfile = "job"\ntext = "@wrokers@"\nsubmit = ""\n')
        submit = ["study", "submit", self.study, "--print"]
        self.assertIn("@wrokers@", self.ghhost(*submit, "--engine", own, expect=78).stderr)
        self.assertIn("no_such", self.ghhost(*submit, "--engine", ENGINES / "slurm.toml", "no_such=1", expect=78).stderr)
        self.assertIn("which engine", self.ghhost(*submit, expect=64).stderr)
        self.ghhost(*submit, "--engine", self.dir / "none.toml", expect=66)
        self.assertIn("study plan", self.ghhost("study", "submit", self.dir / "none", "--engine", own, expect=66).stderr)


@unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed (scripts/setup.sh --test)")
class Parallel(EngineCase):
    def test_workers_run_so_many_at_a_time_and_again_where_they_failed(self):
        # Each is stopped once. A third would find two others at work.
        worker = f"""
            mkdir {self.study}/busy-1 2>/dev/null && mine=1 || {{ mkdir {self.study}/busy-2 && mine=2 || echo crowd >>{self.study}/log; }}
            sleep 0.2
            rmdir {self.study}/busy-$mine
            mkdir {self.study}/stopped-$PARALLEL_SEQ 2>/dev/null && exit 75
            echo "$@" $PARALLEL_SEQ >>{self.study}/log"""
        self.assertIn("joblog", self.hand_over("parallel", worker, "--workers", "5", "--limit", "2"))
        self.until(lambda: len(self.log()) >= 5)
        self.assertEqual(sorted(self.log()), [f"study work {self.study} {number}" for number in range(1, 6)])
        rows = self.study / "engine/joblog"
        self.until(lambda: len(rows.read_text().splitlines()) == 6)
        self.assertEqual({line.split("\t")[6] for line in rows.read_text().splitlines()[1:]}, {"0"})


@unittest.skipIf(private_slurm.why_not(), private_slurm.why_not())
class Slurm(EngineCase):
    # Number 0 has nothing to do, others work until they are told to stop, and have nothing left to do after that.
    WORKER = """
        echo start $SLURM_ARRAY_TASK_ID $SLURM_RESTART_COUNT "$@" >>{log}
        trap 'echo stopped $SLURM_ARRAY_TASK_ID >>{log}; exit 75' TERM
        [ "$2" != work ] || [ -n "$SLURM_RESTART_COUNT" ] || [ "$SLURM_ARRAY_TASK_ID" = 0 ] || while :; do sleep 0.1; done"""

    def test_an_array_is_limited_queued_again_when_stopped_and_followed_by_the_table(self):
        with private_slurm.PrivateSlurm() as slurm:
            job = self.hand_over("slurm", self.WORKER.format(log=self.study / "log"), "--workers", "4", "--limit", "1", "cores=1",
                                 env=slurm.environment).strip()
            queue = lambda form: slurm.run("squeue", "-h", "-o", form).split()
            self.until(lambda: "start 1" in " ".join(self.log()))
            self.assertEqual(queue("%T").count("RUNNING"), 1)  # though there are two cores
            for number in (1, 2, 3):
                task = f"{job}_{number}"
                self.until(lambda: f"{task} RUNNING" in slurm.run("squeue", "-h", "-o", "%i %T"))
                self.until(lambda: any(line.startswith(f"start {number}") for line in self.log()))
                # What --signal does before time is up. It waits for long when its job is queued again meanwhile.
                slurm.spawn("scancel", "--batch", "--signal=TERM", task)
                self.until(lambda: f"stopped {number}" in self.log())
                self.until(lambda: f"{task} PENDING" in slurm.run("squeue", "-h", "-o", "%i %T"))
            self.assertNotIn(f"start study status {self.study}", self.log())
            for number in (1, 2, 3):  # Slurm would wait two minutes
                self.until(lambda: slurm.run("scontrol", "update", f"JobId={job}_{number}", "StartTime=now", check=False) is not None)
            self.until(lambda: not queue("%i"))
        work = f"study work {self.study}"
        expected = [f"start 0 {work}", f"start study status {self.study}"]
        for number in (1, 2, 3):
            expected += [f"start {number} {work}", f"stopped {number}", f"start {number} 1 {work}"]
        self.assertEqual(sorted(self.log()), sorted(expected))
        self.assertEqual(self.log()[-1], f"start study status {self.study}")

    @unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1 waits for a time limit")
    def test_a_worker_is_told_before_its_time_is_up_and_queued_again(self):
        with private_slurm.PrivateSlurm() as slurm:
            job = self.hand_over("slurm", self.WORKER.format(log=self.study / "log"), "--workers", "2", "cores=1", "time=1", "notice=50",
                                 env=slurm.environment).strip()
            self.until(lambda: "stopped 1" in self.log(), 120)
            self.until(lambda: f"{job}_1 PENDING" in slurm.run("squeue", "-h", "-o", "%i %T"))
            self.assertIn("Restarts=1", slurm.run("scontrol", "show", "job", f"{job}_1"))


@unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1 trains six runs with each engine")
class Trained(EngineCase):
    """Real workers on a real study."""

    def hand_over_study(self, engine, *values, env=None):
        file = self.write("study.toml", f"""
            seeds = [0, 1, 2]
            [base]
            recipe = "{SOURCE}/recipes/toy.toml"
            overrides = ["train.epochs=20", "harmonize.warm_up=10", "loader.threads=1"]
            [axes]
            "harmonize.weight" = [1.0, 2.0]
            """)
        self.ghhost("study", "plan", file, "--out", self.study, "--no-calibration")
        done = self.ghhost("study", "submit", self.study, "--engine", ENGINES / f"{engine}.toml", "--workers", 2, *values, env=env)
        states = lambda: json.loads(self.ghhost("study", "status", self.study, "--json").stdout)["states"]
        self.until(lambda: states()["done"] == 6, 300)
        return done.stdout

    def log(self):
        return "\n".join(file.read_text() for file in (self.study / "engine").glob("*.log"))

    @unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed (scripts/setup.sh --test)")
    def test_by_gnu_parallel(self):
        self.hand_over_study("parallel")
        rows = self.study / "engine/joblog"
        self.until(lambda: len(rows.read_text().splitlines()) == 3)

    @unittest.skipIf(private_slurm.why_not(), private_slurm.why_not())
    def test_by_slurm(self):
        with private_slurm.PrivateSlurm() as slurm:
            self.hand_over_study("slurm", "cores=1", "time=10", env=slurm.environment)
            self.until(lambda: not slurm.run("squeue", "-h", "-o", "%i").split())
        self.assertIn("6 done", "".join(file.read_text() for file in (self.study / "engine").glob("table-*.log")))


if __name__ == "__main__":
    unittest.main()
