#!/usr/bin/env python3
"""Every parity vector is read by a test: those of tests/vectors, and those of GH_VECTORS where it is set. Needs no build."""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TESTS = ["tests/unit/**/*_test.cpp", "tests/cuda/*_test.cpp", "plugins/*/*/test.cpp"]


def read_by_tests():
    """Text literals of the tests that look for vectors, without comments: the names of vectors are among them."""
    texts = [file.read_text() for pattern in TESTS for file in sorted(SOURCE.glob(pattern))]
    return {literal for text in texts if "find_vector(" in text
            for literal in re.findall(r'"(\w+)"', re.sub(r"//[^\n]*", "", text))}


def names(folder):
    return {file.stem for file in pathlib.Path(folder).glob("*.safetensors")}


class Vectors(unittest.TestCase):
    def test_every_vector_is_read_by_a_test(self):
        read = read_by_tests()
        self.assertIn("gh_ntxent", read)
        there = names(SOURCE / "tests/vectors")
        self.assertGreater(len(there), 30)
        for folder in filter(None, [os.environ.get("GH_VECTORS")]):
            self.assertTrue(names(folder), f"{folder} holds no vector")
            there |= names(folder)
        self.assertEqual(there - read, set(), "no test reads these")


if __name__ == "__main__":
    unittest.main()
