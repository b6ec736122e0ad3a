"""TensorBoard itself reads the event files; skipped (77) where this Python has none."""
import json
import math
import os
import pathlib
import subprocess
import sys
import unittest

from ghhost_case import SOURCE, GhhostCase

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    print("SKIPPED: no tensorboard here; scripts/setup.sh --test gets it")
    sys.exit(77)


def read(directory):
    events = EventAccumulator(str(directory))
    events.Reload()
    return events


class Events(GhhostCase):
    def test_scalars_and_the_purge_of_a_resumed_run(self):
        program = pathlib.Path(os.environ.get("TEST_RUN", SOURCE / "build/bin/test_run"))
        subprocess.run([program, "[.events]"], check=True, capture_output=True,
                       env={**os.environ, "GH_EVENT_DIRECTORY": str(self.dir)})
        events = read(self.dir)
        self.assertEqual(sorted(events.Tags()["scalars"]), ["größe/ünïcode", "loss"])
        loss = events.Scalars("loss")
        # Steps 4 and 5 of the first file are gone.
        self.assertEqual([e.step for e in loss], [1, 2, 3, 4, 3000000000])
        self.assertEqual([e.wall_time for e in loss], [1e9 + 1, 1e9 + 2, 1e9 + 3, 2e9, 2e9])
        for event, expected in zip(loss, [1, 1 / 2, 1 / 3, 40]):
            self.assertAlmostEqual(event.value, expected, delta=1e-7 * expected)
        self.assertTrue(math.isnan(loss[-1].value))
        self.assertEqual([e.step for e in events.Scalars("größe/ünïcode")], [1, 2, 3])

    def test_a_run_shows_its_metrics(self):
        run = self.run_toy("run")
        events = read(run / "tensorboard")
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        loss = events.Scalars("loss")
        self.assertEqual([e.step for e in loss], [line["step"] for line in lines])
        for event, line in zip(loss, lines):
            self.assertAlmostEqual(event.value, line["loss"], delta=1e-6 * abs(line["loss"]))


if __name__ == "__main__":
    unittest.main()
