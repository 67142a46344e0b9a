"""The vision transformer of models/src/vit.rs."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from job import Job, buffers


class Block(nn.Module):
    def __init__(self, w, i, config):
        super().__init__()
        self.heads, self.eps = config["num_attention_heads"], config["layer_norm_eps"]
        at = lambda name: w.get(f"vit.encoder.layer.{i}.{name}")
        qkv = lambda kind: [at(f"attention.attention.{part}.{kind}") for part in ("query", "key", "value")]
        buffers(
            self,
            norm1=at("layernorm_before.weight"),
            norm1_b=at("layernorm_before.bias"),
            qkv=torch.cat(qkv("weight")),  # (3C, C)
            qkv_b=torch.cat(qkv("bias")) if config.get("qkv_bias", True) else None,
            out=at("attention.output.dense.weight"),  # (C, C)
            out_b=at("attention.output.dense.bias"),
            norm2=at("layernorm_after.weight"),
            norm2_b=at("layernorm_after.bias"),
            up=at("intermediate.dense.weight"),  # (F, C)
            up_b=at("intermediate.dense.bias"),
            down=at("output.dense.weight"),  # (C, F)
            down_b=at("output.dense.bias"),
        )

    def forward(self, x):  # (B, T, C)
        b, t, c = x.shape
        h = F.layer_norm(x, (c,), self.norm1, self.norm1_b, self.eps)
        qkv = F.linear(h, self.qkv, self.qkv_b).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        h = F.scaled_dot_product_attention(*qkv.unbind())  # (B, H, T, D)
        x = x + F.linear(h.transpose(1, 2).reshape(b, t, c), self.out, self.out_b)
        h = F.layer_norm(x, (c,), self.norm2, self.norm2_b, self.eps)
        return x + F.linear(F.gelu(F.linear(h, self.up, self.up_b)), self.down, self.down_b)


class VisionTransformer(nn.Module):
    def __init__(self, w, config):
        super().__init__()
        self.eps = config["layer_norm_eps"]
        self.blocks = nn.ModuleList(Block(w, i, config) for i in range(config["num_hidden_layers"]))
        at = lambda name: w[f"vit.embeddings.{name}"]
        positions = at("position_embeddings")  # (1, T, C)
        buffers(
            self,
            patch=at("patch_embeddings.projection.weight").flatten(1),  # (C, 3·P·P)
            patch_b=at("patch_embeddings.projection.bias"),
            first=at("cls_token") + positions[:, :1],  # (1, 1, C)
            positions=positions[:, 1:],
            norm=w["vit.layernorm.weight"],
            norm_b=w["vit.layernorm.bias"],
            head=w["classifier.weight"],  # (classes, C)
            head_b=w["classifier.bias"],
        )

    def forward(self, pixels):
        """pixels (B, 3, S, S) → logits (B, classes)"""
        x = patch_embed(pixels, self.patch, self.patch_b, self.first, self.positions)
        for block in self.blocks:
            x = block(x)
        x = F.layer_norm(x[:, 0], x.shape[-1:], self.norm, self.norm_b, self.eps)
        return F.linear(x, self.head, self.head_b)


def patch_embed(pixels, w, b, first, positions):
    """pixels (B, 3, S, S), w (C, 3·P·P), first (1, 1, C) the class token at its place, positions (1, N, C) → (B, 1 + N, C)"""
    batch, _, s, _ = pixels.shape
    n = math.isqrt(positions.shape[1])
    # A convolution whose patches do not overlap is one product.
    patches = pixels.view(batch, 3, n, s // n, n, s // n).permute(0, 2, 4, 1, 3, 5).reshape(batch, n * n, -1)
    x = F.linear(patches, w, b) + positions
    return torch.cat([first.expand(batch, -1, -1), x], 1)


def load(workload, config, w, inputs, dtype, device):
    return Job(VisionTransformer(w, config).to(device), [(inputs["pixel_values"],)])
