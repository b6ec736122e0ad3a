#!/usr/bin/env python3
"""Rooms of host/: which sees which, as their CMake files declare it and as their sources use it.

tests/house/rooms.py          prints the page's block
tests/house/rooms.py --write  puts it into docs/architecture.md
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs/architecture.md"
BEGIN, END = "<!-- rooms: written by tests/house/rooms.py --write -->", "<!-- rooms: end -->"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"/]+)/[^"]*"', re.M)


def closure(edges, room):
    """Every room that can be reached from `room`."""
    seen, ahead = set(), list(edges[room])
    while ahead:
        at = ahead.pop()
        if at not in seen:
            seen.add(at)
            ahead += edges[at]
    return seen


class House:
    """`root` holds a folder a room, each with a CMakeLists.txt that links the rooms it sees as gh_<room>."""

    def __init__(self, root=SOURCE / "host"):
        self.root = root
        self.rooms = sorted(file.parent.name for file in root.glob("*/CMakeLists.txt"))
        self.lists = {room: (root / room / "CMakeLists.txt").read_text() for room in self.rooms}
        self.declared = {room: self._declared(room) for room in self.rooms}
        self.used = {room: self._used(room) for room in self.rooms}

    def headers(self):
        return sorted(self.root.rglob("*.hpp"))

    def _declared(self, room):
        code = re.sub(r"#[^\n]*", "", self.lists[room])
        return set(re.findall(r"\bgh_([a-z0-9_]+)\b", code)) & set(self.rooms) - {room}

    def _used(self, room):
        """Room seen → the files that include something of it."""
        used = {}
        for file in sorted((self.root / room).rglob("*.[ch]pp")):
            for seen in INCLUDE.findall(file.read_text()):
                if seen in self.rooms and seen != room:
                    used.setdefault(seen, []).append(file.relative_to(self.root).as_posix())
        return used

    def purpose(self, room):
        """The comment at the top of the room's CMake file."""
        lines = []
        for line in self.lists[room].splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.lstrip("# "))
        return " ".join(lines)

    def cycle(self):
        """Rooms that can be reached from themselves."""
        return sorted(room for room in self.rooms if room in closure(self.declared, room))

    def storeys(self):
        """Rooms by what lies beneath them: each sees only rooms of storeys before its own. Needs a house without cycles."""
        left, out = set(self.rooms), []
        while left:
            out.append(sorted(room for room in left if not self.declared[room] & left))
            left -= set(out[-1])
        return out

    def drawing(self):
        """Mermaid, without the arrows that a way over other rooms implies."""
        lines = ["```mermaid", "graph TD"]
        for room in self.rooms:
            beyond = set().union(*(closure(self.declared, seen) for seen in self.declared[room]))
            lines += [f"  {room} --> {seen}" for seen in sorted(self.declared[room] - beyond)]
        return "\n".join(lines + ["```"])

    def table(self):
        lines = ["| room | what it is | sees |", "|---|---|---|"]
        for storey in reversed(self.storeys()):
            for room in storey:
                sees = ", ".join(sorted(self.declared[room])) or "the SDK"
                lines.append(f"| [`{room}`](../host/{room}) | {self.purpose(room)} | {sees} |")
        return "\n".join(lines)

    def block(self):
        return f"{BEGIN}\n{self.drawing()}\n\n{self.table()}\n{END}"


def with_block(page, block):
    before, rest = page.split(BEGIN, 1)
    return before + block + rest.split(END, 1)[1]


if __name__ == "__main__":
    house = House()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_block(PAGE.read_text(), house.block()))
    else:
        print(house.block())
