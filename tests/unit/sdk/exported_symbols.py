#!/usr/bin/env python3
"""Compares what libghsdk and libghops export with the kept lists in symbols/: plugins that are already built link against these names.

    exported_symbols.py LIBRARY LIST [--nm NM]    exit code 1 and the names where they differ
    exported_symbols.py LIBRARY LIST --add        appends new names to the list; it never takes one out
    exported_symbols.py PLUGIN LIST --needs-none  exit code 1 and the names where the plugin needs one of the list

Looked at are functions, variables, vtables and type information of gh::v1. Weak functions are left out: they are inline, so every
plugin has its own, and which ones are emitted depends on the compiler's options.
"""
import argparse
import pathlib
import re
import subprocess
import sys

OURS = re.compile(r"_Z(?:T[VTISC])?(?:GV)?(?:N[VKr]*)?2gh2v1")
KINDS = set("TDBRVu")


def exported(library, nm):
    lines = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in lines]
    return {name.split("@")[0] for *_, kind, name in fields if kind in KINDS and OURS.match(name)}


def needed(plugin, nm):
    lines = subprocess.run([nm, "-D", "--undefined-only", plugin], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def readable(names):
    try:
        done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True)
    except FileNotFoundError:
        return names
    return [f"{name}  {plain}" for name, plain in zip(names, done.stdout.splitlines())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--needs-none", action="store_true")
    options = parser.parse_args()

    kept = set(options.list.read_text().split()) if options.list.exists() else set()
    if options.needs_none:
        needs = needed(options.library, options.nm)
        if not any(map(OURS.match, needs)):
            sys.exit(f"{options.library} needs nothing of gh::v1: is it a plugin?")
        if newer := sorted(needs & kept):
            print(f"{options.library} needs what is in {options.list.name}:\n  " + "\n  ".join(readable(newer)))
        return 1 if newer else 0
    found = exported(options.library, options.nm)
    if not found:
        sys.exit(f"{options.library} exports nothing of gh::v1: is it the library?")
    missing, new = sorted(kept - found), sorted(found - kept)
    if options.add:
        options.list.write_text("\n".join(sorted(kept | found)) + "\n")
        new = []
    for title, names in (("no longer exported; plugins that were built with it would not load", missing),
                         ("new; to promise it for all of major 1, run this with --add", new)):
        if names:
            print(f"{options.list.name}: {title}:\n  " + "\n  ".join(readable(names)))
    return 1 if missing or new else 0


if __name__ == "__main__":
    sys.exit(main())
