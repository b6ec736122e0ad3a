#!/usr/bin/env python3
"""Refuses commits whose subject is longer than a line of `git log --oneline` shows.

    scripts/commit_subjects.py FILE     the message in FILE, as Git's commit-msg hook calls it
    scripts/commit_subjects.py          every commit since this branch left main
"""
import pathlib
import subprocess
import sys

LONGEST = 72


def git(*arguments):
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def since_main():
    for main in ("main", "origin/main"):
        if base := git("merge-base", "HEAD", main):
            return git("log", "--no-merges", "--format=%s", f"{base.strip()}..HEAD").splitlines()
    print("commit subjects: not looked at, as there is no main to compare with", file=sys.stderr)
    return []


def subject_of(message):
    """The first line that Git keeps; fixup! and squash! commits are not there for long."""
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith("#")]
    return lines[0] if lines and not lines[0].startswith(("fixup! ", "squash! ")) else ""


def main():
    subjects = [subject_of(pathlib.Path(sys.argv[1]).read_text())] if len(sys.argv) > 1 else since_main()
    long = [subject for subject in subjects if len(subject) > LONGEST]
    for subject in long:
        print(f"commit subject of {len(subject)} characters, {LONGEST} at most:\n  {subject[:LONGEST]}|{subject[LONGEST:]}", file=sys.stderr)
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
