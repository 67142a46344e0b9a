"""Language models: LlamaForCausalLM with tied and untied heads, 1, 2 and all kv heads."""

import json
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import tokenizer
from common import fresh, randomize, write_case, write_json

NEW_TOKENS = 12
# Greedy choices must be clear: two logits nearer than this, relative to the largest, could
# swap places on another machine.
MIN_MARGIN = 2e-3


def make(out: Path) -> None:
    make_tied_gqa(fresh(out / "lm-tied-gqa"))
    make_untied_full(fresh(out / "lm-untied-full"))
    make_theta(fresh(out / "lm-theta"))
    make_mqa(fresh(out / "lm-mqa"))


def make_tied_gqa(folder: Path) -> None:
    """Old config without `head_dim`; comes with a tokenizer."""
    vocab_size = tokenizer.make(folder)
    model = build(101, vocab_size=vocab_size, num_key_value_heads=2, tie_word_embeddings=True)
    save(folder, model, batch=2, length=11, old_config=True)


def make_untied_full(folder: Path) -> None:
    """New config, weights in shards; generates its own end-of-text and goes on."""
    model = build(102, vocab_size=120, num_key_value_heads=4, rms_norm_eps=1e-5)
    ids = prompts(model, batch=2, length=9)
    model.config.eos_token_id = greedy(model, ids[:1])[0, 9 + 2].item()
    save(folder, model, batch=2, length=9, max_shard_size="30KB")
    assert not (folder / "model.safetensors").exists(), "one shard only"


def make_theta(folder: Path) -> None:
    """Old config; heads wider than hidden / heads, and an eps that is not negligible."""
    model = build(
        103, vocab_size=150, hidden_size=48, head_dim=16, num_key_value_heads=2,
        rms_norm_eps=1e-2, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
    )
    save(folder, model, batch=2, length=17, old_config=True)


def make_mqa(folder: Path) -> None:
    """New config with a theta of its own; one kv head, three rows."""
    model = build(
        104, vocab_size=97, num_key_value_heads=1, intermediate_size=72,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
    )
    save(folder, model, batch=3, length=8)


def build(seed: int, **overrides) -> LlamaForCausalLM:
    base = dict(
        hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=64, bos_token_id=0, eos_token_id=0,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(LlamaConfig(**(base | overrides)))
    randomize(model, seed)
    return model


def prompts(model: LlamaForCausalLM, batch: int, length: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(7)
    return torch.randint(model.config.vocab_size, (batch, length), generator=rng)  # (B, T)


def greedy(model: LlamaForCausalLM, ids: torch.Tensor) -> torch.Tensor:
    """(1, T) → (1, T + NEW_TOKENS): a full forward a token, end-of-text ignored."""
    for _ in range(NEW_TOKENS):
        logits = model(input_ids=ids, use_cache=False).logits[:, -1]  # (1, V)
        first, second = logits.topk(2).values[0]
        assert first - second > MIN_MARGIN * logits.abs().max(), "a close call: take another seed"
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return ids


def save(folder, model, batch, length, old_config=False, max_shard_size="1GB") -> None:
    ids = prompts(model, batch, length)
    logits = model(input_ids=ids, use_cache=False).logits  # (B, T, V)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    (folder / "generation_config.json").unlink()
    check_reload(folder, ids, logits)
    if old_config:
        path = folder / "config.json"
        write_json(path, old_generation(json.loads(path.read_text())))
        check_reload(folder, ids, logits)
    write_case(folder, input_ids=ids, logits=logits, tokens=greedy(model, ids[:1]))


def old_generation(config: dict) -> dict:
    """`rope_parameters` → top-level `rope_theta`, and the other keys as transformers 4 had them."""
    old = dict(config)
    old["rope_theta"] = old.pop("rope_parameters")["rope_theta"]
    old["rope_scaling"] = None
    old["torch_dtype"] = old.pop("dtype")
    del old["transformers_version"]
    if old["head_dim"] * old["num_attention_heads"] == old["hidden_size"]:
        del old["head_dim"]
    return dict(sorted(old.items()))


def check_reload(folder: Path, ids: torch.Tensor, logits: torch.Tensor) -> None:
    """transformers reads the folder back, whichever generation its config is, to the same bits."""
    model = LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    assert torch.equal(model(input_ids=ids, use_cache=False).logits, logits), folder
