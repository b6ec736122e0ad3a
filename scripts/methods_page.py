#!/usr/bin/env python3
"""The table of docs/methods.md, from the manifests of the bundled methods. GHHOST names another program than build/bin/ghhost.

scripts/methods_page.py          prints it
scripts/methods_page.py --write  puts it into the page
"""
import json
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
GHHOST = pathlib.Path(os.environ.get("GHHOST", SOURCE / "build/bin/ghhost"))
PAGE = SOURCE / "docs/methods.md"
BEGIN, END = "<!-- methods: written by scripts/methods_page.py --write -->", "<!-- methods: end -->"
FACTS = ["paper", "views", "state", "ranks"]


def asked(*arguments):
    return json.loads(subprocess.run([GHHOST, *arguments, "--json"], capture_output=True, text=True, check=True).stdout)


def bundled_methods():
    """Id → its part of the manifest, and its plugin's name as "plugin"."""
    found = {}
    for file in asked("plugins", "list"):
        if file["origin"] == "bundled" and any(name.startswith("ssl/") for name in file.get("provides", [])):
            components = asked("plugins", "info", file["file"])["plugin"]["components"]
            found |= {c["id"]: {**c, "plugin": file["name"]} for c in components if c["kind"] == "ssl"}
    return dict(sorted(found.items()))


def parameter(p):
    value = p.get("default_toml", "required" if p["required"] else "optional")
    return f"`{p['name']}` {value}"


def row(method):
    name = f"[`{method['id']}`](../plugins/ssl/{method['plugin']})"
    name += " (sees labels)" if method["sees_labels"] else ""
    parameters = ", ".join(map(parameter, method["params"])) or "none"
    paper, views, state, ranks = (method.get(fact, "–") for fact in FACTS)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (name, paper, parameters, state, views, ranks)) + " |"


def block(methods):
    head = ["| method | paper | parameters | state | views | what ranks share |", "|---|---|---|---|---|---|"]
    return "\n".join([BEGIN, *head, *map(row, methods.values()), END])


def with_block(page, text, begin=BEGIN, end=END):
    return re.sub(f"{begin}.*?{end}", lambda _: text, page, flags=re.S)


if __name__ == "__main__":
    table = block(bundled_methods())
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_block(PAGE.read_text(), table))
    else:
        print(table)
