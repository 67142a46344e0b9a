"""A forward pass of fixed inputs, whichever model it is of."""

import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from safetensors.torch import load_file
import torch

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
# How far logits may be from those of level 1, as a share of the largest of them.
TOLERANCE = {"f32": 1e-4, "bf16": 5e-2}


def one_line(error):
    """What a failure says; its kind goes before it, where the words are not ours."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = "" if isinstance(error, ValueError) or not isinstance(error, Exception) else f"{type(error).__name__}: "
    return name + (lines[0] if lines else "no message")


def apart(found, expected):
    """The largest difference as a share of the largest value; NaN where there is one."""
    return float((found - expected).abs().max() / expected.abs().max())


def buffers(module, **tensors):
    """Tensors of a module that no gradient goes to; a compiler may count on their addresses."""
    for name, tensor in tensors.items():
        module.register_buffer(name, tensor)


@dataclass
class Job:
    forward: Callable  # of one step's inputs → logits
    steps: list[tuple]  # the inputs of each forward pass of a run
    by_pyg: Callable | None = None  # makes what PyG has in place of `forward`
    rewind: Callable = lambda: None  # brings back the state from which a run starts
    waits: bool = True  # whether the host waits for each forward pass

    @property
    def device(self):
        inputs = self.steps[0]
        return inputs[0].device if inputs else next(self.forward.buffers()).device


@dataclass
class Case:
    """A folder MODEL.PRESET.WORKLOAD.DTYPE, with config.json, model.safetensors, and in workload.safetensors the
    inputs and level 1's logits."""

    folder: Path

    @property
    def key(self):
        return dict(zip(("model", "preset", "workload", "dtype"), self.folder.name.split(".")))

    def load(self, device):
        """The job, and the logits to expect of its last step."""
        dtype = DTYPES[self.key["dtype"]]
        cast = lambda x: x.to(dtype) if x.is_floating_point() else x
        weights = {name: cast(w) for name, w in load_file(self.folder / "model.safetensors").items()}
        inputs = load_file(self.folder / "workload.safetensors", device=device)
        expected = inputs.pop("logits").float().flatten()
        inputs = {name: cast(x) for name, x in inputs.items()}
        config = json.loads((self.folder / "config.json").read_text())
        model = importlib.import_module(self.key["model"])
        return model.load(self.key["workload"], config, weights, inputs, dtype, device), expected

    def check(self, logits, expected):
        """The largest difference as a share of the largest logit.

        Raises ValueError where it is more than rounding.
        """
        found = apart(logits.float().flatten(), expected)
        limit = TOLERANCE[self.key["dtype"]]
        if not found <= limit:
            raise ValueError(f"logits apart by {found:.1e} of the largest, expected at most {limit:.0e}")
        return found
