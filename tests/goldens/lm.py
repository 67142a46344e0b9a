"""Language models: LlamaForCausalLM with tied and untied heads, 1, 2 and all kv heads, and with Llama 3's
rotary scaling; Qwen2ForCausalLM."""

import copy
import json
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

import tokenizer
from common import fresh, randomize, write_case, write_json

NEW_TOKENS = 12
# Greedy choices must be clear: two logits nearer than this, relative to the largest, could
# swap places on another machine.
MIN_MARGIN = 2e-3
CONFIGS = {LlamaForCausalLM: LlamaConfig, Qwen2ForCausalLM: Qwen2Config}


def make(out: Path) -> None:
    make_tied_gqa(fresh(out / "lm-tied-gqa"))
    make_untied_full(fresh(out / "lm-untied-full"))
    make_theta(fresh(out / "lm-theta"))
    make_mqa(fresh(out / "lm-mqa"))
    make_llama3(fresh(out / "lm-llama3"))
    make_qwen2(fresh(out / "lm-qwen2"))


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


def make_llama3(folder: Path) -> None:
    """Old config as Llama 3.2 has it: rotary scaling, tied head, two ends of text; with a tokenizer of its kind."""
    bos, *ends = tokenizer.make_llama3(folder)
    scaling = dict(
        factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64
    )
    plain = {"rope_type": "default", "rope_theta": 5000.0}
    settings = dict(
        vocab_size=max(ends) + 1, head_dim=16, num_key_value_heads=2, tie_word_embeddings=True,
        rms_norm_eps=1e-5, max_position_embeddings=512, bos_token_id=bos, eos_token_id=ends,
    )
    model = build(105, rope_parameters=plain | {"rope_type": "llama3"} | scaling, **settings)
    # Wavelengths of this head in positions; high frequencies have at most 64 / 4, low ones at least 64 / 1.
    waves = [2 * torch.pi * 5000 ** (i / 8) for i in range(8)]
    ranges = [sum(w < 16 for w in waves), sum(16 < w < 64 for w in waves), sum(w > 64 for w in waves)]
    assert min(ranges) >= 1 and ranges[1] >= 2, ranges
    save(folder, model, batch=2, length=23, old_config=True, keep_generation_config=True)
    assert_matters(model, build(105, rope_parameters=plain, **settings))


def make_qwen2(folder: Path) -> None:
    """New config; biases on q, k and v; a padded vocabulary; with a tokenizer of its kind."""
    ends = tokenizer.make_qwen2(folder)
    model = build(
        106, Qwen2ForCausalLM, vocab_size=ends[-1] + 5, num_key_value_heads=2, tie_word_embeddings=True,
        bos_token_id=ends[0], eos_token_id=ends[0], sliding_window=32, use_sliding_window=False,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
    )
    save(folder, model, batch=2, length=13)
    unbiased = copy.deepcopy(model)
    for name, param in unbiased.named_parameters():
        if name.endswith("bias"):
            param.zero_()
    assert_matters(model, unbiased)


def assert_matters(model: PreTrainedModel, other: PreTrainedModel) -> None:
    """What a golden is there for changes its logits by much more than the bound of the tests."""
    ids = prompts(model, batch=2, length=13)
    logits, plain = (m(input_ids=ids, use_cache=False).logits for m in (model, other))
    apart = ((logits - plain).abs().max() / logits.abs().max()).item()
    assert apart > 0.1, apart


def build(seed: int, kind=LlamaForCausalLM, **overrides) -> PreTrainedModel:
    base = dict(
        hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=64, bos_token_id=0, eos_token_id=0,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="eager",
    )
    model = kind(CONFIGS[kind](**(base | overrides)))
    randomize(model, seed)
    return model


def prompts(model: PreTrainedModel, batch: int, length: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(7)
    return torch.randint(model.config.vocab_size, (batch, length), generator=rng)  # (B, T)


def greedy(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """(1, T) → (1, T + NEW_TOKENS): a full forward a token, end-of-text ignored."""
    for _ in range(NEW_TOKENS):
        logits = model(input_ids=ids, use_cache=False).logits[:, -1]  # (1, V)
        first, second = logits.topk(2).values[0]
        assert first - second > MIN_MARGIN * logits.abs().max(), "a close call: take another seed"
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return ids


def save(
    folder, model, batch, length, old_config=False, max_shard_size="1GB", keep_generation_config=False
) -> None:
    ids = prompts(model, batch, length)
    logits = model(input_ids=ids, use_cache=False).logits  # (B, T, V)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    if not keep_generation_config:
        (folder / "generation_config.json").unlink()
    check_reload(type(model), folder, ids, logits)
    if old_config:
        path = folder / "config.json"
        write_json(path, old_generation(json.loads(path.read_text())))
        check_reload(type(model), folder, ids, logits)
    write_case(folder, input_ids=ids, logits=logits, tokens=greedy(model, ids[:1]))


def old_generation(config: dict) -> dict:
    """`rope_parameters` → top-level `rope_theta` and `rope_scaling`, and the other keys as transformers 4 had them."""
    old = dict(config)
    parameters = old.pop("rope_parameters")
    old["rope_theta"] = parameters.pop("rope_theta")
    old["rope_scaling"] = None if parameters["rope_type"] == "default" else parameters
    old["torch_dtype"] = old.pop("dtype")
    del old["transformers_version"]
    if old["head_dim"] * old["num_attention_heads"] == old["hidden_size"]:
        del old["head_dim"]
    return dict(sorted(old.items()))


def check_reload(kind: type, folder: Path, ids: torch.Tensor, logits: torch.Tensor) -> None:
    """transformers reads the folder back, whichever generation its config is, to the same bits."""
    model = kind.from_pretrained(folder, attn_implementation="eager").eval()
    assert torch.equal(model(input_ids=ids, use_cache=False).logits, logits), folder
