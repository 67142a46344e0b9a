"""Shortens the line information of one PTX file that nvcc -lineinfo made. Every instruction stays as it is.

python3 scripts/ptx_text.py FILE.ptx ROOT

A `.loc` says which source line the instructions after it come from, up to the next one. nvcc writes the column, too, and
where the compiler inlined the line. A finding of the simulator and a line of a profiler need neither, and as nvcc writes
them, they are half of a file, and name this machine's folders.

- Paths start at the repository's root, and the CUDA toolkit's at `cuda/`.
- An instruction from a header outside the repository belongs to the line that called it.
- A `.loc` has its file and its line. The column, which PTX requires, is 0.
- A `.loc` that changes nothing goes: one that repeats the one in effect, and one that the next `.loc` replaces before
  any instruction.
- The names of inlined functions go, because no `.loc` refers to them.
- The two comments around each inline assembly go, and the blanks between an opcode and the tab after it.
- A parameter's name does not repeat the kernel's: `param_0`, because its scope is the kernel.
"""

import re
import sys

LOC = re.compile(r"^\t\.loc\t(\d+) (\d+) (\d+)(?:, function_name \S+, inlined_at (\d+) (\d+) (\d+))?$")
FILE = re.compile(r'^\t\.file\t(\d+) "([^"]+)"$')
PARAM = re.compile(r"[\w$]+_param_(\d+)\b")
NAMES = re.compile(r"\t\.section\t\.debug_str\n\t\{\n(?:\$L__info_string\d+:\n(?:\.b8 [\d,]+\n)+)*\n?\t\}\n")


def attributed(lines, foreign):
    """Each `.loc` as its file and line; in place of one in a foreign file, the line that called."""
    before = {}
    for line in lines:
        if match := LOC.match(line):
            file, number, _, *call = match.groups()
            line = f"\t.loc\t{file} {number} 0"
            if file in foreign:
                line = before.get(tuple(call), line)
            before[match.group(1, 2, 3)] = line
        yield line


def without_repeats(lines):
    current = None
    text = [line for line in lines if line]
    following = iter(text[1:] + [""])
    for line in lines:
        after = next(following) if line else ""
        if line.startswith(".visible"):
            current = None
        if LOC.match(line):
            if line == current or LOC.match(after):
                continue
            current = line
        yield line


def shortened(text, root):
    text = re.sub(r'"[^"]*/cu13/', '"cuda/', text).replace(f'"{root}/', '"')
    files = dict(FILE.match(line).groups() for line in text.split("\n") if FILE.match(line))
    foreign = {number for number, path in files.items() if path.startswith(("cuda/", "/"))}
    lines = [l for l in text.split("\n") if l not in ("\t// begin inline asm", "\t// end inline asm")]
    lines = list(without_repeats(list(attributed(lines, foreign))))
    used = {match.group(1) for line in lines if (match := LOC.match(line))}
    lines = [l for l in lines if not ((match := FILE.match(l)) and match.group(1) not in used)]
    text = PARAM.sub(r"param_\1", "\n".join(lines))
    return re.sub(" +\t", "\t", NAMES.sub("", text))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("ptx_text.py: expected FILE.ptx ROOT", file=sys.stderr)
        sys.exit(2)
    path, root = sys.argv[1:]
    try:
        with open(path) as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"ptx_text.py: {path}: expected a text, found: {error}", file=sys.stderr)
        sys.exit(2)
    with open(path, "w") as file:
        file.write(shortened(text, root))
