#!/usr/bin/env python3
"""What the pages show works: recipes in them pass `ghhost check`, and their links lead to something."""
import json
import re
import subprocess
import tomllib
import unittest

from ghhost_case import SOURCE, TOY, GhhostCase

PICTURES = SOURCE / "recipes/shapes.toml"


def pages():
    """Every page of the repository, but not those of templates, which become pages elsewhere."""
    done = subprocess.run(["git", "ls-files", "*.md", ":!sdk/templates"], cwd=SOURCE, capture_output=True, text=True)
    listed = [SOURCE / name for name in done.stdout.splitlines()] if done.returncode == 0 else []
    # In a tree without Git's records, what build directories hold is left out.
    return listed or [page for page in sorted(SOURCE.rglob("*.md"))
                      if not re.match(r"build|\.|sdk/templates", str(page.relative_to(SOURCE)))]


def recipes():
    """Page, line and text of each ```toml block, but for the list of all keys, which is compared with `ghhost keys` in test_run.py."""
    for page in pages():
        text = page.read_text()
        for block in re.finditer(r"^```toml\n(.*?)^```", text, re.M | re.S):
            if not block[1].startswith("# The recipe\n"):
                yield page, text.count("\n", 0, block.start()) + 2, block[1]


def anchors(page):
    """The names under which a page's headings can be linked to, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


class Recipes(GhhostCase):
    def test_every_recipe_on_a_page_is_one(self):
        seen = 0
        for page, line, text in recipes():
            with self.subTest(f"{page.relative_to(SOURCE)}:{line}"):
                tables = tomllib.loads(text)
                if not {"data", "backbone", "method", "train"} <= set(tables):
                    # A part of a recipe stands in place of that part of a whole one.
                    base = PICTURES if {"data", "views"} & set(tables) else TOY
                    there = [name for name in tables if name in tomllib.loads(base.read_text())]
                    text = f"include = ['{base}']\nwithout = {there}\n{text}"
                # A page may show the settings of a long run.
                self.ghhost("check", self.write("recipe.toml", text), "train.epochs=1000")
            seen += 1
        self.assertGreater(seen, 4)

    def test_a_wrong_key_on_a_page_would_be_noticed(self):
        text = f"include = ['{TOY}']\nwithout = ['harmonize']\n[harmonize]\nstructure = {{ id = 'etf', pionts = 3 }}\n"
        self.assertIn("pionts", self.ghhost("check", self.write("recipe.toml", text), expect=78).stderr)

    def test_the_toy_of_the_readme_is_the_one_that_runs(self):
        shown = next(text for page, _, text in recipes() if page == SOURCE / "README.md")
        resolved = [self.ghhost("check", recipe, "--resolved").stdout for recipe in (self.write("toy.toml", shown), TOY)]
        self.assertEqual(*resolved)


class Components(GhhostCase):
    def setUp(self):
        super().setUp()
        bundled = {"XDG_DATA_HOME": str(self.dir), "GHHOST_PLUGIN_PATH": ""}
        self.ghhost("plugins", "docs", "--out", "docs", env=bundled)
        self.page, self.html = ((self.dir / f"docs/components.{ending}").read_text() for ending in ("md", "html"))
        listed = json.loads(self.ghhost("plugins", "list", "--json", env=bundled).stdout)
        self.ids = sorted(provided.split("/")[1] for file in listed for provided in file["provides"])

    def test_the_reference_is_what_the_manifests_say(self):
        kept = (SOURCE / "docs/components.md").read_text()
        self.assertEqual(kept, self.page, "docs/components.md is stale; build/bin/ghhost plugins docs > docs/components.md refreshes it")

    def test_every_component_is_on_both_pages_with_all_its_parameters(self):
        self.assertEqual(sorted(re.findall(r"^### `(.*)`$", self.page, re.M)), self.ids)
        self.assertEqual(sorted(re.findall(r'<section class="component" id="([^"]*)">', self.html)), self.ids)
        self.assertGreater(len(self.ids), 40)
        for name in ("simclr", "knn"):
            info = json.loads(self.ghhost("plugins", "info", name, "--json").stdout)["plugin"]
            for param in next(c for c in info["components"] if c["id"] == name)["params"]:
                part = self.page.split(f"### `{name}`\n")[1].split("\n### ")[0]
                self.assertIn(f"| `{param['name']}` | `{param.get('default_toml', 'required' if param['required'] else 'optional')}` |", part)

    def test_every_method_says_its_facts(self):
        overview = re.search(r"## Methods\n.*?\n\n(.*?)\n\n", self.page, re.S)[1].splitlines()
        self.assertEqual(overview[0], "| id | what | paper | views | state | what ranks share |")
        silent = [row for row in overview[2:] if "| – |" in row]
        self.assertEqual([row[:12] for row in silent], ["| [`random`]"])
        self.assertEqual(silent[0].count("–"), 1)


class Links(unittest.TestCase):
    def test_every_link_leads_to_something(self):
        seen, broken = 0, []
        for page in pages():
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if "://" in target:
                    continue
                seen += 1
                path, _, anchor = target.partition("#")
                where = page.parent / path if path else page
                if not where.exists() or anchor and anchor not in anchors(where):
                    broken.append(f"{page.relative_to(SOURCE)}: {target}")
        self.assertEqual(broken, [])
        self.assertGreater(seen, 50)

    def test_files_named_in_guides_are_there(self):
        """Paths from the repository's root in backticks, as in `docs/recipes.md`; not those with placeholders."""
        missing = []
        for page in [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").glob("*.md"))]:
            for path in re.findall(r"`((?:bench|docs|host|plugins|recipes|scripts|sdk|tests)/[\w./-]+)[ `]", page.read_text()):
                if not (SOURCE / path).exists():
                    missing.append(f"{page.relative_to(SOURCE)}: {path}")
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
