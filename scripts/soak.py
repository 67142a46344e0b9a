"""What scripts/soak.sh runs: fuzzers, SIGKILL at random points, a long decode. Writes docs/soak.json and docs/SOAK.md."""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs/soak.json"
PAGE = ROOT / "docs/SOAK.md"
# The coverage that libFuzzer reads, by a stable compiler.
COVERAGE = " ".join([
    "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1",
])
MIB = 2048


def run(command, **options):
    print("+", " ".join(map(str, command)), flush=True)
    return subprocess.run(list(map(str, command)), cwd=options.pop("cwd", ROOT), check=True, **options)


def targets():
    names = re.findall(r'^\[\[bin\]\]\nname = "(\w+)"', (ROOT / "fuzz/Cargo.toml").read_text(), re.M)
    return [name for name in names if name != "any"]


def fuzzers(folder):
    """Builds the fuzzer, and puts it with the first inputs of each reader into a folder that can be carried to another machine."""
    built = ROOT / "target/fuzz"
    flags = {**os.environ, "RUSTFLAGS": COVERAGE, "CARGO_INCREMENTAL": "0"}
    # With a target named, build scripts and macros are compiled without the flags.
    triple = re.search(r"host: (\S+)", subprocess.check_output(["rustc", "-vV"], text=True)).group(1)
    run(["cargo", "build", "--release", "--target", triple, "--target-dir", built, "--bin", "any"], cwd=ROOT / "fuzz", env=flags)
    for name in targets():
        (folder / "corpus" / name).mkdir(parents=True, exist_ok=True)
        run(["cargo", "run", "--quiet", "--release", "-p", "readers", "--example", "seeds", "--", name, folder / "corpus" / name])
    run(["strip", "-o", folder / "any", built / triple / "release/any"])
    (folder / "commit").write_text(commit())


def fuzz(seconds, only, folder, jobs):
    """Each reader under libFuzzer, so many at once: runs, inputs that went wrong, peak of the memory, slowest input."""
    def ended(name):
        corpus, wrong = folder / "corpus" / name, folder / "wrong" / name
        for path in (corpus, wrong):
            path.mkdir(parents=True, exist_ok=True)
        limits = [f"-max_total_time={seconds}", f"-rss_limit_mb={MIB}", "-timeout=20", "-print_final_stats=1", "-max_len=20000"]
        process = subprocess.run([folder / "any", corpus, f"-artifact_prefix={wrong}/", "-verbosity=0", *limits],
                                 env={**os.environ, "READER": name}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 text=True, errors="replace")
        stat = lambda key: int((re.findall(rf"stat::{key}:\s+(\d+)", process.stderr) or [0])[-1])
        found = {
            "runs": stat("number_of_executed_units"),
            "seconds": seconds,
            "wrong": len(list(wrong.iterdir())),
            "peak_mib": stat("peak_rss_mb"),
            "slowest_s": stat("slowest_unit_time_sec"),
        }
        print(name, found, flush=True)
        if process.returncode:
            print(process.stderr[-1500:], flush=True)
        return name, found

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(pool.map(ended, only or targets()))


def mutate(seconds, seed):
    """Each reader on mutated seeds, without coverage: inputs that were read. A panic or a hang ends the test."""
    said = run(["cargo", "test", "--release", "-p", "readers", "--test", "corpus", "mutations", "--", "--nocapture"],
               env={**os.environ, "READERS_SECONDS": str(seconds), "READERS_SEED": str(seed), "RUST_BACKTRACE": "0"},
               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    counts = re.findall(r"^(\w+): (\d+) inputs in", said, re.M)
    return {name: {"inputs": int(count), "seconds": seconds} for name, count in counts}


class Kill:
    """A command that is killed at a random time, again and again, and a question about what is left."""

    def __init__(self, command, whole, prepare=lambda folder: None):
        self.command, self.whole, self.prepare = command, whole, prepare

    def times(self, count, rng):
        """Kills it `count` times, at times up to what a whole run takes."""
        torn = early = kills = 0
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            self.prepare(folder)
            command = [str(part) for part in self.command(folder)]
            quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            begin = time.monotonic()
            ended = subprocess.run(command, **quiet).returncode
            # 1: `grade` found an exercise that is missing.
            if ended not in (0, 1):
                sys.exit(f"expected a command that works, found exit code {ended}: {' '.join(command)}")
            longest = time.monotonic() - begin
            while kills < count:
                process = subprocess.Popen(command, start_new_session=True, **quiet)
                try:
                    process.wait(rng.uniform(0, longest))
                    early += 1
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    kills += 1
                if not self.whole(folder):
                    torn += 1
                    print("torn:", *command, flush=True)
        return {"kills": kills, "ended_before": early, "torn_or_lost": torn}


def is_json(path):
    """Whether the file is there and whole. Each command has once run to its end before it is killed."""
    try:
        json.loads(path.read_text())
        return True
    except (OSError, ValueError):
        return False


def kills(count, rng):
    """Commands that write files: each file is as before or as after, and what was there can be read."""
    run(["cargo", "build", "--release", "-p", "workbook"])
    run(["cargo", "build", "--release", "-p", "level1", "--example", "train"])
    run(["cargo", "build", "--release", "-p", "level5", "--example", "tune"])
    workbook, examples = ROOT / "target/release/workbook", ROOT / "target/release/examples"
    ran = ROOT / "benches/results/cpu.json"

    def repository(folder):
        (folder / "models").mkdir()
        (folder / "models/tiny").symlink_to(ROOT / "models/tiny")
        shutil.copytree(ROOT / "benches/results", folder / "benches/results")
        shutil.copy(ROOT / "README.md", folder)

    def records(folder):
        files = list((folder / "benches/results").rglob("*.json"))
        before = {path.relative_to(ROOT / "benches/results") for path in (ROOT / "benches/results").rglob("*.json")}
        after = {path.relative_to(folder / "benches/results") for path in files}
        pages = [(folder / "README.md"), (folder / "benches/results/README.md")]
        return before <= after and all(map(is_json, files)) and all(page.read_text().endswith("\n") for page in pages)

    def submissions(folder):
        (folder / "eve").mkdir()
        for number, path in (("07-guard", "2-ptx/07-guard"), ("09-row-argmax", "2-ptx/09-row-argmax"), ("14-transpose", "2-ptx/14-transpose")):
            shutil.copy(ROOT / "exercises" / path / "solution.ptx", folder / "eve" / f"{number}.ptx")

    def model(folder):
        """The last model is there and whole: its tensors are as long as its header says."""
        file = folder / "out/model.safetensors"
        data = file.read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        if any((folder / "target/workbook").glob("*.safetensors")):  # a training that was killed goes on from there
            resumed = [examples / "train", "gnn", "--resume", "--out", folder / "out"]
            if subprocess.run(resumed, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                return False
        end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
        return len(data) == 8 + size + end and is_json(folder / "out/config.json")

    def table(folder):
        """The committed table, as if it had been measured here: `tune --op` changes only a table of its own machine."""
        table = json.loads((ROOT / "kernels/src/dispatch/tables/cpu.json").read_text())
        table["measured_on"] = f"{processor()}, {os.cpu_count()} threads"
        (folder / "table.json").write_text(json.dumps(table))

    def file(name):
        return lambda folder: is_json(folder / name)

    jobs = {
        "train": Kill(lambda f: [examples / "train", "gnn", "--steps", "3", "--checkpoint-every", "0", "--out", f / "out"], model,
                      lambda f: (f / "Cargo.lock").touch()),
        "record": Kill(lambda f: [workbook, "record", "soak", ran], records, repository),
        "tune": Kill(lambda f: [examples / "tune", "--any", "--op", "rms_norm", "--json", f / "table.json"],
                     file("table.json"), table),
        "grade": Kill(lambda f: [workbook, "exercises", "--exercises", ROOT / "exercises", "grade", "eve", "--json", "g.json"],
                      file("g.json"), submissions),
    }
    return {name: {**job.times(count // len(jobs), rng)} for name, job in jobs.items()}


def decode(tokens):
    run(["cargo", "build", "--release", "-p", "tests", "--example", "long_decode"])
    said = run([ROOT / "target/release/examples/long_decode", tokens], stdout=subprocess.PIPE, text=True).stdout
    return json.loads(said)


def commit():
    return subprocess.check_output(["git", "rev-parse", "--short=9", "HEAD"], cwd=ROOT, text=True).strip()


def processor():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else platform.machine()


def page(figures):
    lines = ["# Soak test", "", "<!-- Made by `scripts/soak.sh --page` from docs/soak.json. -->", "",
             "`scripts/soak.sh` runs the workbook for a long time, outside CI. These are the figures of the last run of each part.", ""]
    origins = figures.get("origins", {})

    def origin(part):
        o = origins[part]
        return [f"{o['machine']}, commit {o['commit']}, {o['date']}.", ""]
    if "fuzz" in figures:
        all_runs = sum(f["runs"] for f in figures["fuzz"].values())
        wrong = sum(f["wrong"] for f in figures["fuzz"].values())
        lines += ["## Readers under libFuzzer", "", *origin("fuzz"),
                  f"{all_runs:,} inputs in all; {wrong} ended in a panic, took longer than 20 s, or more than {MIB} MiB.", "",
                  "| reader | inputs | seconds | wrong | peak MiB | slowest input, s |", "|:--|--:|--:|--:|--:|--:|"]
        for name, f in sorted(figures["fuzz"].items()):
            lines.append(f"| `{name}` | {f['runs']:,} | {f['seconds']} | {f['wrong']} | {f['peak_mib']} | {f['slowest_s']} |")
        lines.append("")
    if "mutations" in figures:
        every = figures["mutations"]
        lines += ["## Readers on mutated files", "", *origin("mutations"),
                  f"{sum(f['inputs'] for f in every.values()):,} inputs, made by random changes of small files that are right, "
                  "without coverage; none ended in a panic or took longer than 20 s.", "",
                  "| reader | inputs | seconds |", "|:--|--:|--:|"]
        lines += [f"| `{name}` | {f['inputs']:,} | {f['seconds']} |" for name, f in sorted(every.items())]
        lines.append("")
    if "kills" in figures:
        lines += ["## SIGKILL at random points", "", *origin("kills"),
                  "After each kill, every file that the command writes is checked: it is as before or as after, and can be read.", "",
                  "| command | kills | ended before its kill | torn or lost |", "|:--|--:|--:|--:|"]
        for name, f in figures["kills"].items():
            lines.append(f"| {name} | {f['kills']} | {f['ended_before']} | {f['torn_or_lost']} |")
        lines.append("")
    if "decode" in figures:
        f = figures["decode"]
        lines += ["## A long decode", "", *origin("decode"),
                  f"The small language model generated {f['tokens']:,} tokens on a CPU, in {f['contexts']:,} contexts and "
                  f"{f['seconds']:,} s.", f"The process held {f['mib_after_a_tenth']} MiB after a tenth of them and "
                  f"{f['mib_at_the_end']} MiB at the end.", ""]
    return "\n".join(lines)


def at_least(least):
    def number(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a number from {least}, found {text!r}")
        return int(text)
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.error = lambda line: parser.exit(2, f"soak.sh: {line}\n")
    parser.add_argument("--seconds", type=at_least(0), default=1800, help="time of each fuzzer (0: none)")
    parser.add_argument("--jobs", type=at_least(1), default=1, help="fuzzers at once")
    parser.add_argument("--pack", type=pathlib.Path, help="only build the fuzzers, into this folder")
    parser.add_argument("--packed", type=pathlib.Path, help="fuzzers that --pack built, perhaps on another machine")
    parser.add_argument("--mutate", type=at_least(0), default=600, help="time of each reader on mutated files (0: none)")
    parser.add_argument("--only", nargs="*", help="names of readers to fuzz")
    parser.add_argument("--kills", type=at_least(0), default=200, help="kills in all (0: none)")
    parser.add_argument("--tokens", type=at_least(0), default=1_000_000, help="tokens to generate (0: none)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the times of the kills")
    parser.add_argument("--page", action="store_true", help="only write docs/SOAK.md again")
    args = parser.parse_args()
    if args.pack:
        return fuzzers(args.pack.resolve())
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if not args.page:
        packed = (args.packed or ROOT / "target/fuzz/packed").resolve()
        if args.seconds and not args.packed:
            fuzzers(packed)
        of = (packed / "commit").read_text() if args.packed else commit()
        origin = {"machine": f"{processor()}, {os.cpu_count()} threads", "commit": of, "date": datetime.date.today().isoformat()}

        def add(part, found):
            figures[part] = found
            figures.setdefault("origins", {})[part] = origin

        if args.seconds:
            add("fuzz", {**figures.get("fuzz", {}), **fuzz(args.seconds, args.only, packed, args.jobs)})
        if args.mutate:
            add("mutations", mutate(args.mutate, args.seed))
        if args.kills:
            add("kills", kills(args.kills, random.Random(args.seed)))
        if args.tokens:
            add("decode", decode(args.tokens))
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    bad = [f["wrong"] for f in figures.get("fuzz", {}).values()] + [f["torn_or_lost"] for f in figures.get("kills", {}).values()]
    sys.exit(1 if any(bad) else 0)


if __name__ == "__main__":
    main()
