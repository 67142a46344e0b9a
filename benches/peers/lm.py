"""The language model of models/src/lm.rs, with a cache of keys and values that stays where it is.

The position is a tensor, so that one recording of a step serves every position.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from job import Job, buffers


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def angles(config, positions, dtype):
    """cos and sin of p·θᵢ, θᵢ = base^(−2i/D): (positions, 1, D/2) each."""
    d = head_dim(config)
    base = config.get("rope_parameters", config)["rope_theta"]
    theta = base ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    p = torch.arange(positions, dtype=torch.float32)[:, None, None] * theta.float()
    return p.cos().to(dtype), p.sin().to(dtype)


def rotate(x, cos, sin):
    """Channel i together with channel i + D/2: x (B, T, H, D), cos and sin (T, 1, D/2)."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def causal_attention(q, k, v):
    """q (B, H, T, D), k and v (B, Hkv, T, D), a group of query heads for each of theirs → (B, H, T, D)"""
    group = q.shape[1] // k.shape[1]
    # PyTorch's fused kernels know groups, but for the one that a GPU has for f32.
    if group > 1 and q.is_cuda and q.dtype == torch.float32:
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        group = 1
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=group > 1)


def decode_attention(q, k, v, mask=None):
    """q (B, Hkv, group, D) of one token, k and v (B, Hkv, S, D), mask 0 or −∞ → (B, Hkv, group, D)"""
    # The fused kernel that a GPU has for f32 gives a head to a block, and one row to read all keys: products are faster.
    if not q.is_cuda or q.dtype != torch.float32:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores + mask).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, w, i, config, batch, capacity, dtype):
        super().__init__()
        self.h, self.h_kv = config["num_attention_heads"], config["num_key_value_heads"]
        self.d = head_dim(config)
        self.eps = config["rms_norm_eps"]
        at = lambda name: w[f"model.layers.{i}.{name}.weight"]
        cache = lambda: torch.zeros(batch, self.h_kv, capacity, self.d, dtype=dtype)
        buffers(
            self,
            norm1=at("input_layernorm"),  # (C)
            qkv=torch.cat([at(f"self_attn.{part}_proj") for part in "qkv"]),  # (H·D + 2·Hkv·D, C)
            o=at("self_attn.o_proj"),  # (C, H·D)
            norm2=at("post_attention_layernorm"),  # (C)
            gate_up=torch.cat([at("mlp.gate_proj"), at("mlp.up_proj")]),  # (2F, C)
            down=at("mlp.down_proj"),  # (C, F)
            k=cache(),  # (B, Hkv, S, D)
            v=cache(),
        )

    def forward(self, x, cos, sin, position, mask):
        """x (B, T, C); mask (1, 1, 1, S) for a token behind others, None for a prompt"""
        h = F.rms_norm(x, x.shape[-1:], self.norm1, self.eps)
        x = x + F.linear(self.attention(h, cos, sin, position, mask), self.o)
        h = F.rms_norm(x, x.shape[-1:], self.norm2, self.eps)
        gate, up = F.linear(h, self.gate_up).chunk(2, -1)  # (B, T, F)
        return x + F.linear(F.silu(gate) * up, self.down)

    def attention(self, h, cos, sin, position, mask):
        b, t, _ = h.shape
        qkv = F.linear(h, self.qkv).view(b, t, -1, self.d)
        qk = rotate(qkv[:, :, : self.h + self.h_kv], cos, sin).transpose(1, 2)
        q, k, v = qk[:, : self.h], qk[:, self.h :], qkv[:, :, self.h + self.h_kv :].transpose(1, 2)
        if mask is None:
            self.k[:, :, :t] = k
            self.v[:, :, :t] = v
            y = causal_attention(q, k, v)  # (B, H, T, D)
            return y.transpose(1, 2).reshape(b, t, -1)
        self.k.index_copy_(2, position, k)
        self.v.index_copy_(2, position, v)
        # The query heads that share a key head are rows of one product.
        q = q.reshape(b, self.h_kv, -1, self.d).contiguous()
        y = decode_attention(q, self.k, self.v, mask)
        return y.reshape(b, 1, -1)


class LanguageModel(nn.Module):
    def __init__(self, w, config, batch, capacity, dtype):
        super().__init__()
        self.eps = config["rms_norm_eps"]
        layers = range(config["num_hidden_layers"])
        self.blocks = nn.ModuleList(Block(w, i, config, batch, capacity, dtype) for i in layers)
        embedding = w["model.embed_tokens.weight"]
        head = embedding if config["tie_word_embeddings"] else w["lm_head.weight"]
        cos, sin = angles(config, capacity, dtype)
        buffers(self, embedding=embedding, norm=w["model.norm.weight"], head=head, cos=cos, sin=sin)
        buffers(self, positions=torch.arange(capacity))

    def forward(self, ids, position=None):
        """ids (B, T), the tokens of a prompt, or (1, 1), the one at `position` (1) → logits (B, V) of the last"""
        x = F.embedding(ids, self.embedding)  # (B, T, C)
        t = ids.shape[1]
        if position is None:
            cos, sin, mask = self.cos[:t], self.sin[:t], None
        else:
            cos, sin = self.cos[position], self.sin[position]  # (1, 1, D/2)
            # As a number: of a boolean one, every layer would make its own.
            mask = torch.zeros_like(self.positions, dtype=x.dtype).masked_fill(self.positions > position, -math.inf)
            mask = mask[None, None, None]  # (1, 1, 1, S)
        for block in self.blocks:
            x = block(x, cos, sin, position, mask)
        x = F.rms_norm(x[:, -1], x.shape[-1:], self.norm, self.eps)
        return F.linear(x, self.head)


class Greedy(nn.Module):
    """Tokens that stay on the device: each step reads the most probable token of the one before."""

    def __init__(self, model, first, start):
        super().__init__()
        self.model = model
        buffers(self, first=first, ids=first.clone(), start=start, position=start.clone())

    def rewind(self):
        self.ids.copy_(self.first)
        self.position.copy_(self.start)

    def forward(self):
        logits = self.model(self.ids, self.position)
        self.ids.copy_(logits.argmax(-1, keepdim=True))
        self.position.add_(1)
        return logits


def load(workload, config, w, inputs, dtype, device):
    """The prompt at once; or, where the inputs name further tokens, these one after the other behind it; or, where they
    name the first and a count, so many tokens that the model chooses."""
    prompt, following, count = inputs["input_ids"], inputs.get("next"), inputs.get("count")
    start, steps = prompt.shape[1], next((x.numel() for x in (following, count) if x is not None), 0)
    capacity = -(-(start + steps) // 8) * 8  # a multiple of eight: rows of the mask are aligned
    model = LanguageModel(w, config, prompt.shape[0], capacity, dtype).to(device)
    if steps == 0:
        return Job(model, [(prompt,)])
    model(prompt)
    if count is not None:
        greedy = Greedy(model, inputs["first"], torch.tensor([start], device=device)).to(device)
        return Job(greedy, [()] * steps, rewind=greedy.rewind, waits=False)
    token = lambda i: (following[:, i : i + 1].clone(), torch.tensor([start + i], device=device))
    return Job(model, [token(i) for i in range(steps)])
