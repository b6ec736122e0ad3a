#!/usr/bin/env python3
"""The rooms of host/ keep to what their CMake files say, and docs/architecture.md shows it. Needs no build."""
import collections
import pathlib
import re
import tempfile
import unittest

from rooms import PAGE, SOURCE, House, with_block


class Rooms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.house = House()

    def test_a_room_declares_every_room_whose_headers_it_includes(self):
        for room in self.house.rooms:
            for seen, files in self.house.used[room].items():
                with self.subTest(room=room, sees=seen):
                    self.assertIn(seen, self.house.declared[room], f"host/{room}/CMakeLists.txt must name gh_{seen}, which "
                                  f"{', '.join(files)} include; or {room} should not know {seen}")

    def test_a_room_includes_something_of_every_room_it_declares(self):
        for room in self.house.rooms:
            for seen in self.house.declared[room]:
                with self.subTest(room=room, sees=seen):
                    self.assertIn(seen, self.house.used[room], f"host/{room}/CMakeLists.txt names gh_{seen}, of which {room} "
                                  "includes nothing")

    def test_no_room_sees_itself_through_others(self):
        self.assertEqual(self.house.cycle(), [], "these rooms stand in a cycle")

    def test_every_room_says_what_it_is(self):
        for room in self.house.rooms:
            with self.subTest(room=room):
                self.assertTrue(self.house.purpose(room), f"host/{room}/CMakeLists.txt begins with no comment that says it")

    def test_a_header_name_stands_for_one_header(self):
        places = collections.defaultdict(list)
        for header in self.house.headers():
            places[header.name].append(header.relative_to(SOURCE).as_posix())
        self.assertEqual([files for files in places.values() if len(files) > 1], [])

    def test_the_page_shows_the_rooms_as_they_are(self):
        page = PAGE.read_text()
        self.assertEqual(page, with_block(page, self.house.block()), "docs/architecture.md is stale; tests/house/rooms.py --write "
                         "refreshes it")

    def test_files_that_the_page_names_are_there(self):
        named = re.findall(r"`((?:host|tests)/[\w./]+)`", PAGE.read_text())
        self.assertGreater(len(named), 20)
        self.assertEqual([name for name in named if not (SOURCE / name).exists()], [])


class Mistakes(unittest.TestCase):
    """That the tests above can fail: a house of three rooms, with one mistake each time."""

    def house(self, files):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in files.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        return House(root)

    def test_an_undeclared_edge_is_used_and_not_declared(self):
        house = self.house({"attic/CMakeLists.txt": "# Top.\ngh_add_room(attic SOURCES a.cpp) # not gh_cellar\n",
                            "attic/a.cpp": '  #  include "cellar/wine.hpp"\n#include "attic/a.hpp"\n// #include "hall/x.hpp"\n',
                            "cellar/CMakeLists.txt": "gh_add_room(cellar SOURCES wine.cpp)\n"})
        self.assertEqual(house.used["attic"], {"cellar": ["attic/a.cpp"]})
        self.assertEqual(house.declared["attic"], set())
        self.assertEqual((house.purpose("attic"), house.purpose("cellar")), ("Top.", ""))

    def test_a_cycle_is_found_with_all_that_stand_in_it(self):
        house = self.house({"a/CMakeLists.txt": "gh_add_room(a LIBRARIES gh_b)", "b/CMakeLists.txt": "gh_add_room(b LIBRARIES gh_c)",
                            "c/CMakeLists.txt": "gh_add_room(c LIBRARIES gh_b ghsdk::ghsdk)"})
        self.assertEqual(house.cycle(), ["b", "c"])

    def test_an_arrow_that_others_imply_is_listed_and_not_drawn(self):
        house = self.house({"a/CMakeLists.txt": "gh_add_room(a LIBRARIES gh_b gh_c)", "b/CMakeLists.txt": "gh_add_room(b LIBRARIES gh_c)",
                            "c/CMakeLists.txt": "gh_add_room(c)"})
        self.assertEqual(house.drawing().splitlines()[2:-1], ["  a --> b", "  b --> c"])
        self.assertIn("| b, c |", house.table())
        self.assertEqual(house.storeys(), [["c"], ["b"], ["a"]])


if __name__ == "__main__":
    unittest.main()
