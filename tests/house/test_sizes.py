#!/usr/bin/env python3
"""Files and functions of the product stay small enough to be read at once. Needs no build."""
import pathlib
import re
import statistics
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 450, 60
MEDIAN_LINES_OF_A_METHOD = 120
FOLDERS, SUFFIXES = ("host", "sdk/src", "sdk/ops"), (".cpp", ".hpp", ".h", ".cu", ".cuh")
# Longer still, and to be made shorter: no other may be, and one that has become short leaves this list.
LONG_FILES = {"sdk/ops/cuda/sinkhorn.cu"}
LONG_FUNCTIONS = {"sdk/ops/cuda/operators.cpp: sinkhorn_on_cuda", "sdk/ops/cuda/sinkhorn.cu: sinkhorn_block"}

# What braces and semicolons may stand in without being code: comments, strings, characters, preprocessor lines.
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"""
                     r"""|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*""", re.S | re.M)
COMMENT = re.compile(r"""(?P<text>R"([^()\\ ]*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/""", re.S)
# The head of a constructor up to a member that is initialised in braces: its body is still to come.
MEMBER = re.compile(r"\)\s*(noexcept\s*)?:(?!:).*(?<!\bconst)(?<!\bnoexcept)(?<=[\w>])\s*$", re.S)
NO_FUNCTION = re.compile(r"(inline\s+)?namespace\b|extern\s*$|(template\s*<.*>\s*)?(enum|struct|class|union)\b[^()]*$", re.S)


def functions(text):
    """(name, first line, lines) of every function with a body; what is within one counts as part of it. The first line is that
    of the declaration: template, result, parameters."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found, around, start = [], [], 0
    for mark in re.finditer(r"[{};]", code):
        if mark[0] == "{":
            head = code[start:mark.start()]
            member = MEMBER.search(head)
            function = (not any(outer for outer, *_ in around) and "(" in head and not NO_FUNCTION.match(head.strip()) and not member)
            around.append((function, head.strip(), start + len(head) - len(head.lstrip()), start if member else None))
        elif mark[0] == "}" and around:
            function, head, begin, back = around.pop()
            if function:
                first = code.count("\n", 0, begin) + 1
                head = re.sub(r"__\w+__\s*\(+[^()]*\)+", "", head)
                name = re.search(r"(operator\W+|[\w:~]+)\s*\(", head)
                found.append((name[1] if name else head, first, code.count("\n", 0, mark.start()) + 2 - first))
            if back is not None:
                start = back
                continue
        start = mark.end()
    return found


def lines_of_code(text):
    """Lines that hold more than comments and blanks."""
    return sum(bool(line.strip()) for line in COMMENT.sub(lambda found: found["text"] or "", text).splitlines())


def methods():
    """Folder of plugins/ssl → its lines of code, without those of its test."""
    return {folder.name: sum(lines_of_code(file.read_text()) for file in folder.iterdir()
                             if file.suffix in SUFFIXES and file.name != "test.cpp")
            for folder in sorted((SOURCE / "plugins/ssl").iterdir()) if folder.is_dir()}


def measured():
    for folder in FOLDERS:
        for file in sorted((SOURCE / folder).rglob("*")):
            if file.suffix in SUFFIXES:
                yield file.relative_to(SOURCE).as_posix(), file.read_text()


class Sizes(unittest.TestCase):
    def test_no_file_is_too_long(self):
        long = {name: lines for name, text in measured() if (lines := text.count("\n")) > MOST_LINES_OF_A_FILE}
        self.assertEqual(set(long), LONG_FILES, f"more than {MOST_LINES_OF_A_FILE} lines: {long}")

    def test_no_function_is_too_long(self):
        long = {f"{file}: {name}": lines for file, text in measured() for name, _, lines in functions(text)
                if lines > MOST_LINES_OF_A_FUNCTION}
        self.assertEqual(set(long), LONG_FUNCTIONS, f"more than {MOST_LINES_OF_A_FUNCTION} lines: {long}")

    def test_methods_are_short(self):
        lines = methods()
        median = statistics.median(lines.values())
        print(f"lines of a method: median {median:g}, bar {MEDIAN_LINES_OF_A_METHOD};",
              ", ".join(f"{name} {count}" for name, count in sorted(lines.items(), key=lambda item: item[1])))
        self.assertIn("simclr", lines)
        self.assertLessEqual(median, MEDIAN_LINES_OF_A_METHOD)

    def test_lines_of_code_are_counted_without_comments(self):
        text = 'int a;  // one\n\n// none\n/* none\n*/ int b = "/*"[0];\n   \nR"(// a\n\nb)";\n'
        self.assertEqual(lines_of_code(text), 4)

    def test_functions_are_found_and_measured(self):
        text = """// { comment
#define OPEN {
namespace a { struct S : B { S() : b_{1} {} int f() const { return "}"[0]; } };
template <class T>
auto g(
    T x) -> int {
  auto inner = [&](int y) {
    return y;
  };
  for (;;) { if (x == '}') break; }
  return inner(R"(})"[0]) + 1'000;
}
constexpr int kTable[] = {f(1), 2};
enum class E { x };
}
bool operator==(S a, S b) {
}
C::C(int x)
    : a_{x}, b_(x), c_{
          x} {
  g(x);
}
void C::h() {
}
"""
        self.assertEqual(functions(text), [("S", 3, 1), ("f", 3, 1), ("g", 4, 9), ("operator==", 16, 2), ("C::C", 18, 5),
                                           ("C::h", 23, 2)])

    def test_functions_of_the_product_are_found(self):
        found = {name: [f[0] for f in functions(text)] for name, text in measured()}
        self.assertIn("main", found["host/cli/main.cpp"])
        self.assertIn("thin", found["host/data/long_tail.cpp"])
        self.assertGreater(sum(map(len, found.values())), 2000)


if __name__ == "__main__":
    unittest.main()
