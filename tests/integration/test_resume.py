"""Runs that are stopped, killed, damaged or starved, and go on."""
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

from ghhost_case import GHHOST, SHORT, SOURCE, TOY, GhhostCase

# Twelve epochs of the toy with GH from the sixth on, saved at every one.
LONG = ["train.epochs=12", "harmonize.warm_up=5", "checkpoint.every=1"]
# A run long enough to be hit in the middle of an epoch; saves at every step but for the clock.
OFTEN = ["checkpoint.minutes=1e-9"]


def rewrite(file, edit):
    """Lets `edit` change metadata and tensors (name → [dtype, shape, bytes]) of a checkpoint, whose checksum is then right again."""
    raw = file.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    metadata = header.pop("__metadata__")
    tensors = {name: [t["dtype"], t["shape"], raw[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]]
               for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"])}
    edit(metadata, tensors)
    names = {"F32": "Float", "F64": "Double", "I64": "Long", "U8": "Byte", "BOOL": "Bool"}
    metadata.pop("sha256")
    digest = hashlib.sha256()
    for key in sorted(metadata):
        digest.update(f"{key}={metadata[key]}\n".encode())
    header, body = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        digest.update(f"{name} {names[dtype]} {'x'.join(map(str, shape))}\n".encode() + content)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps({"__metadata__": {**metadata, "sha256": digest.hexdigest()}, **header}).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(8, "little") + text + body)


class ResumeCase(GhhostCase):
    def files(self, run):
        """Everything of a run that must not depend on how often it was stopped."""
        found = {}
        for pattern in ("checkpoints/*", "metrics.jsonl", "metrics.csv", "results/*", "recipe.toml"):
            for file in sorted(run.glob(pattern)):
                found[str(file.relative_to(run))] = file.read_bytes()
        return found

    def assert_same_run(self, a, b):
        a, b = self.files(a), self.files(b)
        self.assertEqual(list(a), list(b))
        for name in a:
            self.assertEqual(a[name], b[name], name)

    def start(self, *arguments):
        return subprocess.Popen([GHHOST, *map(str, arguments)], cwd=self.dir, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def kill(self, run, process):
        """Kills it; one that was quicker than the test looks as if it had been killed just before its end."""
        process.kill()
        process.communicate()
        if (run / "status.json").exists():
            status = self.status(run)
            (run / "status.json").write_text(json.dumps({**status, "state": "running"}))

    def wait_for_checkpoint(self, run, process, step):
        deadline = time.monotonic() + 120
        while True:
            steps = [int(f.stem[5:]) for f in (run / "checkpoints").glob("step-*.safetensors")] \
                if (run / "checkpoints").exists() else []
            if steps and max(steps) >= step:
                return
            self.assertIsNone(process.poll(), "the run ended before it could be stopped")
            self.assertLess(time.monotonic(), deadline, "no checkpoint came")
            time.sleep(0.002)


class Killed(ResumeCase):
    def kill_and_resume(self, whole, name, arguments, steps):
        run = self.dir / name
        for step in steps:
            process = self.start("run", *arguments, "--out", run, "--resume")
            self.wait_for_checkpoint(run, process, step)
            self.kill(run, process)
        self.ghhost("run", *arguments, "--out", run, "--resume")
        self.assert_same_run(whole, run)

    def test_a_killed_run_ends_as_one_that_was_never_killed(self):
        arguments = [TOY, *LONG, *OFTEN, "train.batch=32"]
        self.ghhost("run", *arguments, "--out", self.dir / "whole")
        total = self.metrics(self.dir / "whole")[-1]["step"]
        per_epoch = total // 12
        # Inside the warm-up, right at its end, inside GH; then one that is killed three times.
        for i, steps in enumerate([[per_epoch + 3], [5 * per_epoch], [8 * per_epoch + 5],
                                   [2, 4 * per_epoch - 1, 11 * per_epoch + 1]]):
            self.kill_and_resume(self.dir / "whole", f"killed-{i}", arguments, steps)

    def test_a_convolutional_network_on_pictures_goes_on_bit_for_bit(self):
        arguments = [SOURCE / "plugins/backbones/resnet/recipe.toml", "train.epochs=2", *OFTEN, "train.optimizer.momentum=0.9"]
        self.ghhost("run", *arguments, "--out", self.dir / "whole")
        total = self.metrics(self.dir / "whole")[-1]["step"]
        self.kill_and_resume(self.dir / "whole", "killed", arguments, [2, total // 2 + 1])

    def test_a_run_killed_before_its_first_checkpoint_starts_again(self):
        arguments = [TOY, *LONG]
        self.ghhost("run", *arguments, "--out", self.dir / "whole")
        run = self.dir / "killed"
        process = self.start("run", *arguments, "train.epochs=12", "--out", run, "--resume")
        while not (run / "recipe.toml").exists():
            time.sleep(0.002)
        process.kill()
        process.communicate()
        self.ghhost("run", *arguments, "--out", run, "--resume")
        self.assert_same_run(self.dir / "whole", run)

    def test_signals_save_and_the_run_goes_on_by_its_directory(self):
        arguments = [TOY, *LONG, "train.batch=32"]
        self.ghhost("run", *arguments, "--out", self.dir / "whole")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            run = self.dir / number.name
            process = self.start("run", *arguments, "--out", run)
            self.wait_for_checkpoint(run, process, 1)
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=60)
            if process.returncode != 0:  # it may have been done already
                self.assertEqual(process.returncode, 75, stderr)
                self.assertIn(f"ghhost resume {run}", stdout)
            self.ghhost("resume", run)
            self.assert_same_run(self.dir / "whole", run)

    def test_a_signal_in_the_last_step_of_an_epoch_costs_nothing(self):
        # One step an epoch: whenever the signal comes, it comes there.
        arguments = [TOY, "train.batch=1000", "train.epochs=80", "harmonize.warm_up=5", "checkpoint.every=1000"]
        self.ghhost("run", *arguments, "--out", self.dir / "whole")
        run = self.dir / "stopped"
        process = self.start("run", *arguments, "--out", run)
        while not (run / "metrics.jsonl").exists() or not (run / "metrics.jsonl").stat().st_size:
            time.sleep(0.002)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 75, process.communicate()[1])
        self.ghhost("resume", run)
        self.assertEqual((self.dir / "whole/metrics.jsonl").read_bytes(), (run / "metrics.jsonl").read_bytes())
        self.assertEqual(self.state(self.dir / "whole"), self.state(run))

    def test_a_finished_run_has_nothing_to_go_on_with(self):
        run = self.run_toy("a")
        before = self.files(run)
        self.assertIn("is finished", self.ghhost("resume", run).stderr)
        self.assertEqual(self.files(run), before)


    def test_a_report_that_a_kill_prevented_is_written_when_asked_again(self):
        run = self.run_toy("a")
        report = run / "report.html"
        report.unlink()  # killed after its status said "finished"
        self.ghhost("resume", run)
        self.assertIn("finished", report.read_text())
        # Or an older report is there, of when the run was interrupted.
        report.write_text("interrupted")
        self.ghhost("resume", run)
        self.assertIn("</html>", report.read_text())

    def test_the_last_run_is_found_after_a_gap_in_the_numbers(self):
        self.ghhost("run", TOY, *SHORT)
        (self.dir / "runs/toy-001").rename(self.dir / "runs/toy-003")
        done = self.ghhost("run", TOY, *SHORT, "--resume")
        self.assertIn(f"{self.dir}/runs/toy-003 is finished", done.stderr)
        self.assertEqual([p.name for p in (self.dir / "runs").iterdir()], ["toy-003"])
        self.ghhost("run", TOY, *SHORT)
        self.assertTrue((self.dir / "runs/toy-004/report.html").exists())


class Refused(ResumeCase):
    def interrupted(self):
        run = self.dir / "run"
        process = self.start("run", TOY, *LONG, "--out", run)
        self.wait_for_checkpoint(run, process, 1)
        self.kill(run, process)
        return run

    def test_a_changed_recipe_is_refused_with_the_differences(self):
        run = self.interrupted()
        before = self.files(run)
        done = self.ghhost("run", TOY, *LONG, "method.temperature=0.7", "train.batch=64", "--out", run, "--resume", expect=78)
        self.assertRegex(done.stderr, r"method\.temperature: [0-9.]+ → 0\.7")
        self.assertRegex(done.stderr, r"train\.batch: \d+ → 64")
        self.assertNotIn("seed", done.stderr)
        self.assertEqual(self.files(run), before)

    def test_what_changes_no_number_may_change(self):
        run = self.interrupted()
        self.ghhost("run", TOY, *LONG, "checkpoint.keep=5", "loader.prefetch=1", 'name="other"', "--out", run, "--resume")

    def newest(self, run):
        return sorted((run / "checkpoints").glob("step-*.safetensors"))[-1]

    def test_a_checkpoint_of_another_run_is_refused_and_nothing_is_cut(self):
        run = self.interrupted()
        for name, change in (("seed", "seed=1"), ("data.per_class", "data.per_class=400")):
            other = self.dir / name
            self.ghhost("run", TOY, *LONG, change, "--out", other)
            foreign = self.newest(other)
            shutil.copy(foreign, run / "checkpoints")
            before = self.files(run)
            for command in (["resume", run], ["run", TOY, *LONG, "--out", run, "--resume"], ["eval", run], ["export", run]):
                done = self.ghhost(*command, expect=78)
                self.assertIn(foreign.name + " is a checkpoint of another run", done.stderr)
                self.assertRegex(done.stderr, rf"(?m)^  {re.escape(name)}: \d+ → \d+$")
                self.assertEqual(self.files(run), before)
            (run / "checkpoints" / foreign.name).unlink()
        self.ghhost("run", TOY, *LONG, "--out", self.dir / "whole")
        self.ghhost("resume", run)
        self.assert_same_run(self.dir / "whole", run)

    def test_a_checkpoint_without_identity_is_taken_with_a_warning(self):
        run = self.interrupted()
        rewrite(self.newest(run), lambda metadata, tensors: [metadata.pop(key) for key in ("recipe", "data")])
        self.assertIn("does not say of which run it is", self.ghhost("resume", run).stderr)
        self.ghhost("run", TOY, *LONG, "--out", self.dir / "whole")
        self.assert_same_run(self.dir / "whole", run)

    def test_a_checkpoint_that_cannot_be_loaded_cuts_nothing(self):
        run = self.interrupted()
        # Lines after the checkpoint, as a kill between a line and its checkpoint leaves them.
        with open(run / "metrics.jsonl", "a") as metrics:
            metrics.write('{"epoch": 99}\n')
        def misplace(metadata, tensors):
            metadata["position"] = re.sub(r'"metrics_bytes":(\d+)', lambda m: f'"metrics_bytes":{int(m[1]) - 3}', metadata["position"])
        for edit, code, told in ((lambda metadata, tensors: tensors.pop("run.step"), 66, "run.step"), (misplace, 74, "ends no line")):
            kept = self.newest(run).read_bytes()
            rewrite(self.newest(run), edit)
            before = self.files(run)
            self.assertIn(told, self.ghhost("resume", run, expect=code).stderr)
            self.assertEqual(self.files(run), before)
            self.newest(run).write_bytes(kept)
        self.ghhost("run", TOY, *LONG, "--out", self.dir / "whole")
        self.ghhost("resume", run)
        self.assert_same_run(self.dir / "whole", run)

    def test_of_several_that_start_together_in_one_directory_one_runs(self):
        run = self.dir / "run"
        processes = [self.start("run", TOY, *SHORT, "--out", run) for _ in range(4)]
        ends = [(process.communicate(timeout=120), process.returncode) for process in processes]
        self.assertEqual(sorted(code for _, code in ends), [0, 74, 74, 74], ends)
        for (_, stderr), code in ends:
            if code:
                self.assertRegex(stderr, "another process|not empty")
        self.assertEqual(self.status(run)["state"], "finished")
        self.assertEqual(len(self.metrics(run)), 10)

    def test_two_processes_cannot_write_one_run(self):
        run = self.dir / "run"
        process = self.start("run", TOY, "train.epochs=100000", "--out", run)
        while not (run / "recipe.toml").exists():
            time.sleep(0.01)
        done = self.ghhost("run", TOY, "train.epochs=100000", "--out", run, "--resume", expect=74)
        self.assertIn("another process", done.stderr)
        process.kill()
        process.communicate()

    def test_resume_needs_a_run(self):
        self.assertIn("no run directory", self.ghhost("resume", self.dir / "nothing", expect=66).stderr)


class Damaged(ResumeCase):
    def test_a_damaged_checkpoint_is_passed_over_with_a_message(self):
        arguments = [TOY, *LONG]
        self.ghhost("run", *arguments, "--out", self.dir / "whole")
        damages = {
            "truncated": lambda b: b[: len(b) // 2],
            "flipped": lambda b: b[:-7] + bytes([b[-7] ^ 4]) + b[-6:],
            "empty": lambda b: b"",
            "header": lambda b: b[:60] + b"#" + b[61:],
        }
        for name, damage in damages.items():
            run = self.dir / name
            process = self.start("run", *arguments, "--out", run)
            self.wait_for_checkpoint(run, process, 2 * self.metrics(self.dir / "whole")[-1]["step"] // 12)
            self.kill(run, process)
            files = sorted((run / "checkpoints").glob("step-*.safetensors"))
            self.assertGreaterEqual(len(files), 2)
            files[-1].write_bytes(damage(files[-1].read_bytes()))
            done = self.ghhost("resume", run)
            self.assertIn(files[-1].name, done.stderr)
            self.assertIn("before it is used", done.stderr)
            self.assert_same_run(self.dir / "whole", run)

    def test_without_a_sound_checkpoint_nothing_is_overwritten(self):
        run = self.dir / "run"
        process = self.start("run", TOY, *LONG, "--out", run)
        self.wait_for_checkpoint(run, process, 1)
        self.kill(run, process)
        for file in (run / "checkpoints").glob("step-*.safetensors"):
            file.write_bytes(b"x")
        before = self.files(run)
        self.assertIn("no checkpoint", self.ghhost("resume", run, expect=74).stderr)
        self.assertEqual(self.files(run), before)

    def test_a_full_disk_keeps_the_checkpoint_before(self):
        """A limit on the size of files stands for a full disk: writing fails half-way in both. The
        checkpoint is larger than any plugin, which the limit must let into memory."""
        run = self.dir / "run"
        wide = [*LONG, "backbone.hidden=[8000]"]
        process = self.start("run", TOY, *wide, "--out", run)
        self.wait_for_checkpoint(run, process, 1)
        self.kill(run, process)
        kept = sorted((run / "checkpoints").glob("step-*.safetensors"))
        limit = kept[-1].stat().st_size // 2

        def starve():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = subprocess.run([GHHOST, "resume", run], capture_output=True, text=True, preexec_fn=starve, timeout=120)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertIn("is safe", done.stderr)
        self.assertTrue(kept[-1].exists())
        self.assertEqual([], list((run / "checkpoints").glob("*.tmp")))
        self.ghhost("run", TOY, *wide, "--out", self.dir / "whole")
        self.ghhost("resume", run)
        self.assert_same_run(self.dir / "whole", run)


class Kept(ResumeCase):
    def test_the_newest_and_the_best_are_kept(self):
        run = self.dir / "run"
        self.ghhost("run", TOY, *LONG, "checkpoint.keep=1", "checkpoint.best=2", '~harmonize', 'eval.0.when=["end"]', "--out", run)
        kept = {int(f.stem[5:]) for f in (run / "checkpoints").glob("step-*.safetensors")}
        metrics = self.metrics(run)
        best = sorted(metrics, key=lambda m: m["loss"])[:2]
        self.assertEqual(kept, {m["step"] for m in best} | {metrics[-1]["step"]})

    def test_export_takes_the_best_when_asked(self):
        run = self.dir / "run"
        self.ghhost("run", TOY, *LONG, "checkpoint.best=1", '~harmonize', 'eval.0.when=["end"]', "train.optimizer.lr=3", "--out", run)
        self.ghhost("export", run, "--out", self.dir / "last.safetensors")
        self.ghhost("export", run, "--best", "--out", self.dir / "best.safetensors")
        best = min(self.metrics(run), key=lambda m: m["loss"])
        same = (self.dir / "last.safetensors").read_bytes() == (self.dir / "best.safetensors").read_bytes()
        self.assertEqual(same, best["epoch"] == 12)


class NotFinite(ResumeCase):
    def test_a_step_that_is_not_finite_is_saved_and_replayed(self):
        run = self.dir / "run"
        # Weights grow at every step until they overflow, some epochs on.
        done = self.ghhost("run", TOY, "train.epochs=12", "~harmonize", 'eval.0.when=["end"]', "checkpoint.every=1",
                           'train.optimizer={id="sgd", lr=1.0, weight_decay=50.0}', "--out", run, expect=1)
        self.assertIn(f"ghhost replay {run}", done.stderr)
        step = json.loads((run / "failure/step.json").read_text())
        self.assertTrue(any(not re.fullmatch(r"[0-9.e+-]+|none", p[2]) for p in step["parameters"]) or "n" in step["loss"])
        self.assertGreater((run / "failure/batch.safetensors").stat().st_size, 100)
        before = {p: p.stat().st_mtime_ns for p in run.rglob("*")}
        replayed = self.ghhost("replay", run)
        self.assertIn("number for number", replayed.stdout)
        self.assertIn(f"step {step['step'] + 1}:", replayed.stdout)
        self.assertEqual(before, {p: p.stat().st_mtime_ns for p in run.rglob("*")}, "replay changed the run")
        # A record that says something else is noticed.
        step["loss"] = "1.25"
        (run / "failure/step.json").write_text(json.dumps(step))
        self.assertIn("Not the same", self.ghhost("replay", run, expect=1).stdout)

    def test_a_run_without_failure_has_nothing_to_replay(self):
        self.assertIn("no step that failed", self.ghhost("replay", self.run_toy("a"), expect=66).stderr)


if __name__ == "__main__":
    unittest.main()
