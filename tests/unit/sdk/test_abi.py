#!/usr/bin/env python3
"""What libghsdk exports, with every type that is part of it, against what SDK 1.0 had (baselines/, written by abidw): nothing is gone
or has changed but by what abidiff knows to be harmless, members appended to structs that plugins see a prefix of.

GHSDK_BUILD: the build directory, whose target ghsdk_described is the library with debug information."""
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[2] / "sdk/include"


@unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1 builds the library once more")
class Abi(unittest.TestCase):
    def test_nothing_of_1_0_is_gone_or_has_changed(self):
        if not shutil.which("abidiff"):
            self.skipTest("no abidiff (package abigail-tools)")
        build = pathlib.Path(os.environ["GHSDK_BUILD"])
        subprocess.run(["cmake", "--build", build, "--target", "ghsdk_described"], check=True, capture_output=True)
        with tempfile.NamedTemporaryFile(suffix=".abi") as baseline:
            baseline.write(lzma.decompress((HERE / "baselines/libghsdk-1.0.abi.xz").read_bytes()))
            baseline.flush()
            done = subprocess.run(["abidiff", "--no-added-syms", "--drop-private-types", "--exported-interfaces-only", "--headers-dir2", INCLUDE,
                                   baseline.name, build / "lib/described/libghsdk.so"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
