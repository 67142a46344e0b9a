"""Shortens the line information of one PTX file that nvcc -lineinfo made. Every instruction stays as it is.

python3 scripts/ptx_text.py FILE.ptx ROOT

A `.loc` says which source line the instructions behind it come from, up to the next one; with `inlined_at`, also where
the compiler inlined that line. As nvcc writes them, they are half of a file, and they name this machine's folders.

- Paths start at the repository's root, and the CUDA toolkit's at `cuda/`.
- An instruction from a header outside the repository belongs to the line that called it.
- A `.loc` that changes nothing goes: one that repeats the one in effect, and one that the next `.loc` replaces before
  any instruction. The first of those stays, because `inlined_at` has to name a `.loc` that came before.
- Functions that were inlined are called `Rows::copy`, where nvcc spells the whole C++ type in bytes.
- The two comments around each inline assembly go, and the blank between an opcode and the tab behind it.
"""

import re
import subprocess
import sys

LOC = re.compile(r"^\t\.loc\t(\d+) (\d+) (\d+)(?:, function_name (\S+), inlined_at (\d+) (\d+) (\d+))?$")
FILE = re.compile(r'^\t\.file\t(\d+) "([^"]+)"$')
NAME = re.compile(r"(\$L__info_string\d+):\n((?:\.b8 [\d,]+\n)+)")


def without_brackets(name, pair):
    """`Rows::copy` of `Rows<16, 80>::copy`."""
    innermost = re.compile(r"\%s[^%s]*\%s" % (pair[0], re.escape(pair), pair[1]))
    while innermost.search(name):
        name = innermost.sub("", name)
    return name


def function_name(demangled):
    """`product::{lambda#1}` of `void product<Tile>(float*)::{lambda(int)#1}::operator()<int>(int) const`."""
    name = demangled.replace("operator()", "call").replace("(anonymous namespace)::", "").replace(" const::", "::")
    name = without_brackets(without_brackets(name, "<>"), "()")
    return name.removesuffix(" const").split(" ")[-1].removesuffix("::call")


def function_names(mangled):
    """Of all of them, by binutils' c++filt, which comes with the compiler that nvcc needs."""
    run = subprocess.run(["c++filt"], input="\n".join(mangled), text=True, capture_output=True, check=True)
    return [function_name(line) for line in run.stdout.splitlines()]


def with_short_names(text):
    """The bytes of `$L__info_string7` become those of a short name, and the label `$name7`; unused ones go."""
    used = set(re.findall(r"function_name (\S+),", text))
    spelled = [re.findall(r"\d+", match.group(2).replace(".b8", "")) for match in NAME.finditer(text)]
    mangled = [bytes(map(int, name)).rstrip(b"\0").decode() for name in spelled]
    short = iter(function_names(mangled) if mangled else [])

    def spell(match):
        name = next(short).encode() + b"\0"
        return f"{match.group(1)}:\n.b8 {','.join(map(str, name))}\n" if match.group(1) in used else ""

    return NAME.sub(spell, text).replace("$L__info_string", "$name")


def attributed(lines, foreign):
    """Without `.loc`s in foreign files: the line that called takes their place."""
    before = {}
    for line in lines:
        if match := LOC.match(line):
            file, *_, at_file, at_line, at_column = match.groups()
            if file in foreign:
                line = before.get((at_file, at_line, at_column), line)
            before[match.group(1, 2, 3)] = line
        yield line


def without_repeats(lines):
    current, seen = None, set()
    text = [line for line in lines if line]
    following = iter(text[1:] + [""])
    for line in lines:
        after = next(following) if line else ""
        if line.startswith(".visible"):
            current, seen = None, set()
        if LOC.match(line):
            if line == current or (LOC.match(after) and line in seen):
                continue
            current = line
            seen.add(line)
        yield line


def shortened(text, root):
    text = re.sub(r'"[^"]*/cu13/', '"cuda/', text).replace(f'"{root}/', '"')
    files = dict(FILE.match(line).groups() for line in text.split("\n") if FILE.match(line))
    foreign = {number for number, path in files.items() if path.startswith(("cuda/", "/"))}
    lines = [l for l in text.split("\n") if l not in ("\t// begin inline asm", "\t// end inline asm")]
    lines = list(without_repeats(list(attributed(lines, foreign))))
    used = {match.group(1) for line in lines if (match := LOC.match(line))}
    unused = foreign - used
    lines = [l for l in lines if not ((match := FILE.match(l)) and match.group(1) in unused)]
    return with_short_names("\n".join(lines)).replace(" \t", "\t")


if __name__ == "__main__":
    path, root = sys.argv[1:]
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(shortened(text, root))
