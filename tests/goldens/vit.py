"""Vision transformers: ViTForImageClassification, and what its image processor makes of a PNG."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from common import fresh, randomize, write_case

SHAPES = ["circle", "square", "triangle", "star", "cross", "ring", "crescent moon"]


def make(out: Path) -> None:
    make_model(
        fresh(out / "vit-patch4"), 201, image_size=16, patch_size=4, num_attention_heads=4,
        id2label=dict(enumerate(SHAPES)), label2id={name: i for i, name in enumerate(SHAPES)},
    )
    make_model(
        fresh(out / "vit-patch8"), 202, image_size=32, patch_size=8, num_attention_heads=2,
        num_labels=1, layer_norm_eps=1e-2,
    )
    make_preprocess(
        fresh(out / "vit-preprocess"), resample=Image.Resampling.BILINEAR,
        size={"height": 16, "width": 16},
    )
    make_preprocess(
        fresh(out / "vit-preprocess-bicubic"), resample=Image.Resampling.BICUBIC,
        size={"height": 32, "width": 32},
        image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225],
    )


def make_model(folder: Path, seed: int, **overrides) -> None:
    config = ViTConfig(
        hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_channels=3,
        qkv_bias=True, attn_implementation="eager", **overrides,
    )
    model = ViTForImageClassification(config)
    randomize(model, seed)

    rng = torch.Generator().manual_seed(8)
    size = (3, 3, config.image_size, config.image_size)
    pixel_values = torch.randn(size, generator=rng)  # (B, channels, H, W)
    logits = model(pixel_values=pixel_values).logits  # (B, labels)

    model.save_pretrained(folder)
    loaded = ViTForImageClassification.from_pretrained(folder, attn_implementation="eager").eval()
    assert torch.equal(loaded(pixel_values=pixel_values).logits, logits), folder
    write_case(folder, pixel_values=pixel_values, logits=logits)


def make_preprocess(folder: Path, **settings) -> None:
    """image.png, preprocessor_config.json → pixel_values (1, 3, H, W), resized by Pillow."""
    picture().save(folder / "image.png")
    ViTImageProcessorPil(**settings).save_pretrained(folder)
    processor = ViTImageProcessorPil.from_pretrained(folder)
    pixel_values = processor(Image.open(folder / "image.png"), return_tensors="pt").pixel_values
    write_case(folder, pixel_values=pixel_values)


def picture(width: int = 37, height: int = 23) -> Image.Image:
    """A gradient that differs by channel and axis, with noise on it."""
    y, x = np.mgrid[0:height, 0:width]
    ramp = np.stack([x / width, y / height, 1 - x / width], axis=-1)  # (H, W, 3)
    noise = np.random.default_rng(9).uniform(-0.3, 0.3, ramp.shape)
    return Image.fromarray((255 * np.clip(ramp + noise, 0, 1)).astype(np.uint8))
