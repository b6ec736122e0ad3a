"""python -m ghhost: the program, where the directory of scripts is not on the PATH. --cmake-dir: what CMake needs for plugins."""
import os
import pathlib
import sys

TREE = pathlib.Path(__file__).resolve().parent

arguments = ["sdk", *sys.argv[1:]] if sys.argv[1:] == ["--cmake-dir"] else sys.argv[1:]
os.execv(TREE / "bin/ghhost", ["ghhost", *arguments])
