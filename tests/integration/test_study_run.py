#!/usr/bin/env python3
"""Studies that are worked on: by one or several, interrupted, killed, and with runs that fail."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from ghhost_case import GHHOST, SOURCE
from test_resume import ResumeCase

TINY = ["train.epochs=3", "~eval", "train.batch=16", "data.per_class=20", "loader.threads=1", "checkpoint.every=1"]
ZOO = GHHOST.resolve().parents[1] / "tests/zoo/plugins"
ALONE = {**os.environ, "OMP_NUM_THREADS": "1"}


class StudyCase(ResumeCase):
    """Studies are planned here by hand: these tests are about what comes after that."""

    def setUp(self):
        super().setUp()
        self.study = self.dir / "study"
        (self.study / "recipes").mkdir(parents=True)
        self.jobs = []

    def resolved(self, *overrides):
        return self.ghhost("check", SOURCE / "recipes/toy/simclr.toml", "--resolved", *TINY, *overrides, env=ALONE).stdout

    def add(self, name, recipe, **job):
        (self.study / f"recipes/{name}.toml").write_text(recipe)
        self.jobs.append({"id": name, "label": name, "recipe": f"recipes/{name}.toml", "directory": f"runs/{name}", "epochs": 3,
                          "seconds": 1.0, **job})

    def add_arms(self, count, *overrides):
        recipe = self.resolved(*overrides)
        self.assertIn("\nseed = 0\n", recipe)
        for seed in range(count):
            self.add(f"arm-{seed}", recipe.replace("\nseed = 0\n", f"\nseed = {seed}\n", 1), label="arm", seed=str(seed))

    def planned(self, **heading):
        (self.study / "jobs.json").write_text(json.dumps(
            {"format": 1, "name": "tiny", "file": str(self.dir / "study.toml"), "retries": 1, **heading, "jobs": self.jobs}))

    def worker(self, *command):
        return subprocess.Popen([GHHOST, *map(str, command or ["study", "work", self.study])], cwd=self.dir, env=ALONE,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ended(self, process, expect=0):
        output = process.communicate(timeout=600)[0]
        self.assertEqual(process.returncode, expect, output)
        return output

    def outcomes(self):
        """Job → its attempts."""
        return {file.stem: json.loads(file.read_text())["attempts"] for file in (self.study / "outcomes").glob("*.json")}

    def state(self):
        return json.loads(self.ghhost("study", "status", self.study, "--json").stdout)

    def done(self):
        """How many ended well. Files of outcomes are replaced while this looks at them."""
        return sum('"code": 0' in file.read_text() for file in (self.study / "outcomes").glob("*.json"))

    def until(self, happened, *processes):
        end = time.monotonic() + 600
        while not happened():
            self.assertLess(time.monotonic(), end)
            for process in processes:
                self.assertIsNone(process.poll(), "ended before it could be stopped")
            time.sleep(0.005)

    def assert_as_separate_runs(self, names):
        for name in names:
            self.ghhost("run", self.study / f"recipes/{name}.toml", "--out", self.dir / name, env=ALONE)
            self.assert_same_run(self.dir / name, self.study / "runs" / name)

    def assert_every_arm_once(self, kills=0):
        """Trained to its end once, and never by two at a time, which its run directory would have refused."""
        outcomes = self.outcomes()
        self.assertEqual(sorted(outcomes), sorted(job["id"] for job in self.jobs))
        cut_off = 0
        for name, attempts in outcomes.items():
            codes = collections.Counter(attempt.get("code", attempt.get("signal", "cut off")) for attempt in attempts)
            self.assertEqual(codes[0], 1, (name, attempts))
            self.assertLessEqual(set(codes), {0, "cut off"}, (name, attempts))
            cut_off += codes["cut off"]
            log = (self.study / f"logs/{name}.log").read_text()
            self.assertNotIn("another process", log)
            self.assertEqual(len((self.study / f"runs/{name}/metrics.jsonl").read_text().splitlines()), 3)
            if kills == 0:
                self.assertEqual(len(re.findall("epoch 3/3", log)), 1, log)
        self.assertLessEqual(cut_off, kills)


class Workers(StudyCase):
    def test_two_workers_share_the_arms(self):
        self.add_arms(10)
        self.planned()
        workers = [self.worker(), self.worker()]
        for worker in workers:
            self.ended(worker)
        self.assert_every_arm_once()
        by = collections.Counter(attempts[0]["process"] for attempts in self.outcomes().values())
        self.assertEqual(set(by), {worker.pid for worker in workers}, by)
        self.assert_as_separate_runs(["arm-0", "arm-9"])
        # Nothing is left to do, and nothing is done.
        def touched():
            return {file: file.stat().st_mtime_ns for file in self.study.rglob("*") if file.parent != self.study}
        before = touched()
        self.ended(self.worker())
        self.assertEqual(touched(), before)

    def kill_workers(self, arms, kills, seed):
        chance = random.Random(seed)
        self.add_arms(arms)
        self.planned()
        workers = [self.worker(), self.worker()]
        for kill in range(kills):
            mark = kill * (arms - 4) // kills
            self.until(lambda: self.done() >= mark)
            time.sleep(chance.uniform(0, 0.4))  # anywhere in an arm
            worker = workers.pop(chance.randrange(2))
            worker.kill()
            worker.communicate()
            workers.append(self.worker())
        for worker in workers:
            self.ended(worker)
        self.assert_every_arm_once(kills)
        self.assertEqual(self.state()["states"]["done"], arms)
        self.assert_as_separate_runs(chance.sample([job["id"] for job in self.jobs], min(arms, 5)))

    def test_workers_that_are_killed_lose_nothing(self):
        self.kill_workers(arms=10, kills=4, seed=1)

    @unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1 runs two hundred arms")
    def test_two_hundred_arms_while_workers_are_killed_twenty_times(self):
        self.kill_workers(arms=200, kills=20, seed=2)

    def test_a_killed_worker_leaves_no_run_going(self):
        self.add_arms(1, "train.epochs=100000")
        self.planned()
        worker = self.worker()
        status = self.study / "runs/arm-0/status.json"
        self.until(lambda: status.exists() and (self.study / "runs/arm-0/metrics.jsonl").stat().st_size, worker)
        self.until(lambda: "1 running" in (self.study / "study.html").read_text(), worker)
        run = json.loads(status.read_text())["pid"]
        self.assertNotEqual(run, worker.pid)
        os.kill(run, 0)
        worker.kill()
        worker.communicate()

        def is_gone():
            try:
                return "\nState:\tZ" in pathlib.Path(f"/proc/{run}/status").read_text()
            except OSError:
                return True
        self.until(is_gone)
        self.assertEqual(self.state()["states"]["resumable"], 1)


class Interrupted(StudyCase):
    def test_a_study_that_is_stopped_goes_on_to_the_same_bytes(self):
        self.add_arms(3, "train.epochs=40")
        for job in self.jobs:
            job["epochs"] = 40
        self.planned()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            study = self.worker("study", self.study, "--jobs", 2)
            metrics = [self.study / f"runs/{job['id']}/metrics.jsonl" for job in self.jobs]
            lines = lambda: sum(len(file.read_text().splitlines()) for file in metrics if file.exists())
            mark = lines() + 8
            self.until(lambda: lines() >= mark, study)
            study.send_signal(number)
            if number == signal.SIGKILL:
                study.communicate()
            else:
                self.assertIn(f"Go on with: ghhost study {self.study}", self.ended(study, 75))
                # Everything was saved: each run that had begun was stopped at its last step. One that was
                # still starting, and did not listen yet, had nothing to save.
                for attempts in self.outcomes().values():
                    last = attempts[-1]
                    if last.get("signal") == signal.SIGTERM:
                        said = (self.study / last["log"]).read_bytes()[last["log_begin"]:]
                        self.assertNotIn(b"loss", said)
                    else:
                        self.assertIn(last.get("code"), (0, 75))
        self.ended(self.worker("study", self.study, "--jobs", 2))
        self.assertEqual(self.state()["states"], {"done": 3, "running": 0, "resumable": 0, "new": 0, "failed": 0})
        self.assert_as_separate_runs([job["id"] for job in self.jobs])

    def test_a_second_signal_leaves_at_once(self):
        self.add_arms(1, "train.epochs=100000")
        self.planned()
        # A run that does not listen: it is stopped itself.
        study = self.worker("study", "run", self.study)
        status = self.study / "runs/arm-0/status.json"
        self.until(lambda: status.exists() and (self.study / "runs/arm-0/metrics.jsonl").stat().st_size, study)
        run = json.loads(status.read_text())["pid"]
        os.kill(run, signal.SIGSTOP)
        study.send_signal(signal.SIGTERM)
        time.sleep(0.7)  # what comes within half a second is the same wish
        self.assertIsNone(study.poll())
        study.send_signal(signal.SIGTERM)
        self.ended(study, 75)


class Whole(StudyCase):
    def test_a_study_file_is_planned_and_trained_and_the_second_time_nothing_is_done(self):
        study = self.write("tiny.toml", f"""
            seeds = [0, 1]
            baseline = "calm"
            [base]
            recipe = "{SOURCE}/recipes/toy/simclr.toml"
            overrides = {json.dumps(TINY)}
            [axes]
            "method.temperature" = [0.2, 0.5]
            [[arm]]
            label = "calm"
            [[arm]]
            label = "noisy"
            overrides = ["views.noise=0.4"]
            """)
        command = ["study", study, "--out", self.study, "--jobs", 2]
        self.assertIn("8 runs · 8 done", self.ended(self.worker(*command)))
        before = {file: file.read_bytes() for file in self.study.rglob("*") if file.is_file() and
                  file.name not in ("jobs.json", "study.html", "table.json")}
        self.assertIn(self.study / "table.md", before)
        again = self.ended(self.worker(*command))
        self.assertNotIn("begins", again)
        self.assertEqual({file: file.read_bytes() for file in before}, before)
        # An arm more is the only one that is trained.
        study.write_text(study.read_text().replace("[0.2, 0.5]", "[0.2, 0.5, 1.0]"))
        self.assertEqual(self.ended(self.worker(*command)).count(": done"), 4)
        self.jobs = json.loads((self.study / "jobs.json").read_text())["jobs"]
        for job in self.jobs[:3]:
            run = self.dir / job["id"]
            self.ghhost("run", self.study / job["recipe"], "--out", run, env=ALONE)
            self.assert_same_run(run, self.study / job["directory"])


    def test_arms_that_begin_alike_share_that_and_end_with_the_bytes_of_separate_runs(self):
        changes = [*TINY, "train.epochs=6", "harmonize.warm_up=3", "harmonize.ramp=1"]
        study = self.write("shared.toml", f"""
            [base]
            recipe = "{SOURCE}/recipes/toy.toml"
            overrides = {json.dumps(changes)}
            [axes]
            "harmonize.weight" = [1.0, 2.0, 4.0]
            """)
        self.ghhost("study", "plan", study, "--out", self.study, "--no-calibration", env=ALONE)
        self.jobs = json.loads((self.study / "jobs.json").read_text())["jobs"]
        trunks = {job["id"]: job for job in self.jobs if job.get("until")}
        arms = [job for job in self.jobs if not job.get("until")]
        self.assertEqual([job["until"] for job in trunks.values()], [3])
        self.assertEqual({job["from"] for job in arms}, set(trunks))
        # Killed as soon as the first arm has begun, and again at the second.
        for begun in (1, 2):
            worker = self.worker()
            self.until(lambda: sum((self.study / job["directory"] / "metrics.jsonl").exists() for job in arms) >= begun, worker)
            worker.kill()
            worker.communicate()
        workers = [self.worker(), self.worker()]
        for worker in workers:
            self.ended(worker)
        for job in arms:
            alone = self.dir / job["id"]
            self.ghhost("run", self.study / job["recipe"], "--out", alone, env=ALONE)
            self.assert_same_run(alone, self.study / job["directory"])
            # What it printed of training is what came after the trunk.
            log = (self.study / f"logs/{pathlib.Path(job['directory']).name}.log").read_text()
            self.assertNotRegex(log, r"epoch [123]/6")
            self.assertRegex(log, "epoch 6/6")


    def test_a_study_that_changes_while_the_shared_part_is_trained_goes_on_with_it(self):
        changes = [*TINY, "train.epochs=60", "harmonize.warm_up=50", "harmonize.ramp=1"]

        def write(label, weights):
            return self.write("changing.toml", f"""
                [base]
                recipe = "{SOURCE}/recipes/toy.toml"
                overrides = {json.dumps(changes)}
                [axes]
                "harmonize.weight" = {weights}
                [[arm]]
                label = "{label}"
                """)
        command = ["study", write("GH", [1.0, 2.0]), "--out", self.study, "--no-calibration"]
        worker = self.worker(*command)
        self.until(lambda: any(run.stat().st_size for run in self.study.glob("runs/*/metrics.jsonl")), worker)
        worker.kill()
        worker.communicate()
        # The row that the shared part was written down with is the last one now, and has another name.
        write("renamed", [3.0, 2.0, 1.0])
        self.assertIn("3 runs · 3 done", self.ended(self.worker(*command)))
        self.jobs = json.loads((self.study / "jobs.json").read_text())["jobs"]
        self.assertEqual(len(self.jobs), 4)
        for job in self.jobs[1:]:
            self.ghhost("run", self.study / job["recipe"], "--out", self.dir / job["id"], env=ALONE)
            self.assert_same_run(self.dir / job["id"], self.study / job["directory"])
            self.assertNotIn("epoch 50/60", (self.study / f"logs/{pathlib.Path(job['directory']).name}.log").read_text())

    def test_a_run_that_somebody_removed_is_trained_again(self):
        self.add_arms(2)
        self.planned()
        self.ended(self.worker())
        before = self.files(self.study / "runs/arm-1")
        shutil.rmtree(self.study / "runs/arm-1")
        self.assertEqual(self.state()["states"]["done"], 1)
        self.assertIn("2 done", self.ended(self.worker()))
        self.assertEqual(self.files(self.study / "runs/arm-1"), before)
        self.assertEqual([len(attempts) for _, attempts in sorted(self.outcomes().items())], [1, 2])


class Failed(StudyCase):
    def test_what_fails_is_told_and_stops_nobody(self):
        self.add_arms(2)
        self.add("no-data", self.resolved().replace('id = "toy2d"', 'id = "toy2d"\nno_such_key = 1'))
        no_files = 'data={{id="cifar", root="{}", longtail={{law="exp", ratio=2}}}}'
        self.add("no-files", self.resolved(no_files.format(self.dir / "nowhere"), "~views.noise"))
        self.add("flaky", self.resolved())
        self.jobs[-1]["recipe"] = "recipes/later.toml"
        self.planned(retries=0)
        done = self.ended(self.worker("study", self.study), 1)
        self.assertIn("Failed:\n", done)
        self.assertRegex(done, r"no-data: exit code 78: .*no_such_key.*\(log: logs/no-data\.log\)")
        self.assertRegex(done, r"no-files: exit code 66: .*nowhere")
        self.assertRegex(done, r"flaky: exit code 78: .*later\.toml")
        self.assertEqual(self.state()["states"], {"done": 2, "running": 0, "resumable": 0, "new": 0, "failed": 3})
        self.assertEqual(self.ghhost("study", "status", self.study).stdout.count("exit code"), 3)
        # It stays so, until somebody who mended it asks.
        os.rename(self.study / "recipes/flaky.toml", self.study / "recipes/later.toml")
        self.ended(self.worker("study", self.study), 1)
        self.assertEqual(len(self.outcomes()["flaky"]), 1)
        self.assertIn("no-data", self.ended(self.worker("study", self.study, "--retry-failed"), 1))
        self.assertEqual(self.outcomes()["flaky"][-1]["code"], 0)
        self.assertEqual({name: len(attempts) for name, attempts in self.outcomes().items()},
                         {"arm-0": 1, "arm-1": 1, "no-data": 2, "no-files": 2, "flaky": 2})

    def test_fail_fast_stops_the_others_and_saves_them(self):
        self.add_arms(1, "train.epochs=100000")
        self.jobs[0]["seconds"] = 2.0
        self.add("bad", "no recipe")
        self.planned()
        done = self.ended(self.worker("study", self.study, "--jobs", 2, "--fail-fast"), 1)
        self.assertIn("bad: exit code 78", done)
        self.assertIn(self.state()["states"]["resumable"] + self.state()["states"]["new"], (1,))

    def test_exit_codes_of_runs_with_plugins_that_leave_or_fail(self):
        with_zoo = ["--plugin", ZOO]
        base = [SOURCE / "recipes/toy/simclr.toml", "--resolved", *TINY]
        leaving = self.ghhost(*with_zoo, "check", *base, 'method={id="zoo_leaver", projector="none", how="exit", after=2}').stdout
        failing = self.ghhost(*with_zoo, "check", *base, 'eval=[{id="zoo_failing", when=["end"]}]').stdout
        self.add("trained", failing)
        self.planned(plugins=[str(ZOO)])
        done = self.ended(self.worker(), 3)
        self.assertRegex(done, r"Trained, but an evaluation failed:\n  trained: exit code 3: .*a tantrum")
        self.assertEqual(self.state()["states"]["done"], 1)
        self.add("leaves", leaving)
        self.planned(plugins=[str(ZOO)], retries=2)
        self.assertRegex(self.ended(self.worker(), 1), r"\n  leaves: exit code 70: a plugin or library called exit\(0\)")
        self.assertEqual([attempt["code"] for attempt in self.outcomes()["leaves"]], [70, 70, 70])
        self.assertEqual(len(self.outcomes()["trained"]), 1)


class Asked(StudyCase):
    def test_days_of_work_are_not_begun_without_a_yes(self):
        self.add_arms(1)
        self.jobs[0]["seconds"] = 3 * 86400.0
        self.planned()
        told = subprocess.run([GHHOST, "study", self.study], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(told.returncode, 64)
        self.assertRegex(told.stderr, r"72 h.*--yes")
        self.assertFalse((self.study / "outcomes").exists())
        self.ended(self.worker("study", self.study, "--yes"))

    def test_a_directory_that_cannot_be_written_is_told_before_anything_else(self):
        self.add_arms(1)
        self.planned()
        (self.study / "logs").write_text("no directory")
        self.assertIn(f"ghhost: {self.study}/logs: ", self.ghhost("study", "work", self.study, expect=74).stderr)
        study = self.write("tiny.toml", f'[base]\nrecipe = "{SOURCE}/recipes/toy.toml"\n')
        self.assertRegex(self.ghhost("study", study, "--out", "/proc", expect=74).stderr, "^ghhost: cannot .*/proc")

    def test_what_is_no_study_is_refused(self):
        self.assertIn("jobs.json", self.ghhost("study", "work", self.study, expect=66).stderr)
        self.assertIn("none is not there", self.ghhost("study", self.dir / "none", expect=66).stderr)
        self.assertIn("study plan", self.ghhost("study", "status", self.dir / "none", expect=66).stderr)
        self.ghhost("study", "status", expect=64)
        self.assertIn("--retry-failed", self.ghhost("study", "run", "--help").stdout)
        self.assertIn("ghhost study STUDY", self.ghhost("study", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
