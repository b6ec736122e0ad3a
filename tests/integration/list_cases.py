#!/usr/bin/env python3
"""Prints Class.test for every test of a file, one a line, without importing it; a class with setUpClass once, as Class."""
import ast
import pathlib
import sys

for node in ast.parse(pathlib.Path(sys.argv[1]).read_text()).body:
    if not isinstance(node, ast.ClassDef):
        continue
    methods = [f.name for f in node.body if isinstance(f, ast.FunctionDef)]
    tests = [name for name in methods if name.startswith("test")]
    if tests and "setUpClass" in methods:
        print(node.name)
    else:
        print("".join(f"{node.name}.{name}\n" for name in tests), end="")
