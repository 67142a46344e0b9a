"""Makes the goldens: small models with random weights, and what Hugging Face
transformers and PyTorch Geometric answer for them.

    python tests/goldens/make.py --out tests/goldens

Runs on a CPU in float32, with fixed seeds: the same versions on the same kind of CPU
write the same bytes. README.md says what each folder holds.
"""

import argparse
import importlib.metadata
import platform
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ beside the goldens

import torch
import transformers

import gnn
import lm
import vit
from common import write_json

PACKAGES = ["torch", "transformers", "torch_geometric", "safetensors", "tokenizers", "numpy", "pillow"]


def versions() -> dict[str, str]:
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder that receives the goldens")
    families = {"lm": lm, "vit": vit, "gnn": gnn}
    parser.add_argument("--only", choices=families, help="one family instead of all three")
    args = parser.parse_args()

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)  # one order of summation
    torch.use_deterministic_algorithms(True)
    for name, version in versions().items():
        print(f"{name} {version}")

    with torch.no_grad():
        for name in [args.only] if args.only else families:
            families[name].make(args.out)
    write_json(args.out / "versions.json", versions())


if __name__ == "__main__":
    main()
