#!/usr/bin/env python3
"""Prints Class.test for every test of a file, one a line, without importing it; a class with setUpClass once, as Class. What only
runs with GH_SLOW is followed by a tab and "slow"."""
import ast
import pathlib
import sys


def is_slow(node):
    return any("GH_SLOW" in ast.unparse(decorator) for decorator in node.decorator_list)


for node in ast.parse(pathlib.Path(sys.argv[1]).read_text()).body:
    if not isinstance(node, ast.ClassDef):
        continue
    methods = [f for f in node.body if isinstance(f, ast.FunctionDef)]
    tests = [f for f in methods if f.name.startswith("test")]
    names = [(f"{node.name}.{f.name}", is_slow(node) or is_slow(f)) for f in tests]
    if tests and any(f.name == "setUpClass" for f in methods):
        names = [(node.name, is_slow(node))]
    for name, slow in names:
        print(name + ("\tslow" if slow else ""))
