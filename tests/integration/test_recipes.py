#!/usr/bin/env python3
"""Every file under recipes is what it says: recipes, also those of plugins, and every arm of studies pass `ghhost check`, as they are and at small scale, and
docs/paper.md leads to all studies."""
import concurrent.futures
import os
import re
import tomllib
import unittest

from ghhost_case import SOURCE, GhhostCase
from paper_studies import STUDIES, arms

# Parts are of recipes that include them.
RECIPES = sorted(file for file in [*(SOURCE / "recipes").rglob("*.toml"), *SOURCE.glob("plugins/*/*/recipe.toml")]
                 if not {"parts", "paper"} & set(file.relative_to(SOURCE).parts))


class Recipes(GhhostCase):
    def check_all(self, checks):
        """Each of (name, arguments of check), as many at a time as there are cores."""
        def check(arguments):
            try:
                return self.ghhost("check", *arguments).stderr
            except AssertionError as error:
                return str(error)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (name, arguments), said in zip(checks, pool.map(check, [arguments for _, arguments in checks])):
                with self.subTest(name):
                    self.assertEqual(re.sub(r"^Scaled .*\n(  .*\n)*", "", said), "")

    def test_every_recipe_is_one(self):
        self.assertGreater(len(RECIPES), 60)
        self.check_all([(file.stem, [file]) for file in RECIPES])

    def test_every_part_is_a_part_of_something(self):
        included = {(file.parent / name).resolve() for file in (SOURCE / "recipes").rglob("*.toml")
                    for name in tomllib.loads(file.read_text()).get("include", [])}
        based = {arm[1] for file in STUDIES for arm in arms(file)}
        parts = {file for file in (SOURCE / "recipes").rglob("parts/**/*.toml")}
        self.assertGreater(len(parts), 3)
        self.assertEqual(parts - included - based, set())

    def test_every_study_is_one_at_both_scales(self):
        self.assertGreater(len(STUDIES), 30)
        self.check_all([(file.stem, [file]) for file in STUDIES] + [(f"{file.stem}, small", [file, "--scale", "small"]) for file in STUDIES])

    def test_the_page_of_the_paper_leads_to_every_study_and_has_every_table_and_figure(self):
        page = (SOURCE / "docs/paper.md").read_text()
        self.assertEqual({link for link in re.findall(r"recipes/paper/([\w-]+\.toml)\)", page)}, {file.name for file in STUDIES})
        rows = " ".join(row for row in re.findall(r"^\| ((?:Table|Figure) [^|]*)", page, re.M))
        tables = " ".join(re.findall(r"Table ([\d, ]+)", rows)).replace(",", " ").split()
        figures = " ".join(re.findall(r"Figure ([\dabc, ]+)", rows)).replace(",", " ").split()
        self.assertEqual(sorted(map(int, tables)), list(range(1, 29)))
        self.assertEqual(sorted(figures), ["1", "2", "3a", "3b", "3c", "4", "5", "6", "7", "8", "9"])


if __name__ == "__main__":
    unittest.main()
