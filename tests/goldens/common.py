"""What the three families share: weights that show bugs, and the files of a golden."""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file


def randomize(model: torch.nn.Module, seed: int, std: float = 0.2) -> None:
    """Redraws every parameter: norm weights in 1 ± 0.2, biases in ± 0.2, the rest normal.

    The usual initialisation (std 0.02, zero biases, norm weights of one) makes logits so
    flat that a dropped bias or a wrong rotary angle would pass.
    """
    rng = torch.Generator().manual_seed(seed)
    for name, param in model.named_parameters():
        if param.dim() == 1:
            centre = 1.0 if name.endswith("weight") else 0.0
            param.copy_(centre + 0.4 * (torch.rand(param.shape, generator=rng) - 0.5))
        else:
            param.copy_(std * torch.randn(param.shape, generator=rng))
    model.eval()


def fresh(folder: Path) -> Path:
    """An empty folder, so that no file of an earlier run stays behind."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write_json(path: Path, value) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_case(folder: Path, **tensors: torch.Tensor) -> None:
    """`case.safetensors`: inputs and expected outputs, by the names of the examples."""
    save_file({name: t.contiguous() for name, t in tensors.items()}, folder / "case.safetensors")
    shapes = ", ".join(f"{name} {tuple(t.shape)}" for name, t in tensors.items())
    print(f"{folder.name}: {shapes}")
