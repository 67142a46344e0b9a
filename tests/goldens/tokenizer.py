"""A tiny byte-level BPE: `tokenizer.json`, and `text.json` with texts and their ids."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

END_OF_TEXT = "<|endoftext|>"

CORPUS = [
    "The candle burns at the level of the table.",
    "A level is a step, and a step is one idea.",
    "Read the code, run the code, measure the code.",
    "Where the measurement and the page disagree, the measurement wins.",
    "Das Maß der Wärme ist die Größe, die wir messen.",
]

TEXTS = [
    "The level",
    "  two spaces, then\na new line\tand a tab ",
    "It's 1234 candles; they're 56% burnt!",
    "café, naïve, Größe",
    "Ω ≤ π × 10⁻³",
    "東京の灯り",
    "crab 🦀 and family 👩‍👧",
    "e\u0301 is not \u00e9",  # a combining accent: no normalisation may merge it
    f"one{END_OF_TEXT}two",
]


def make(folder: Path) -> int:
    """Trains and writes the tokenizer, returns its vocabulary size."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tok.train_from_iterator(CORPUS, trainer)
    tok.save(str(folder / "tokenizer.json"))
    pairs = [json.dumps(pair(tok, text), ensure_ascii=False) for text in TEXTS]
    (folder / "text.json").write_text("[\n" + ",\n".join(pairs) + "\n]\n", encoding="utf-8")
    return tok.get_vocab_size()


def pair(tok: Tokenizer, text: str) -> dict:
    ids = tok.encode(text).ids
    assert tok.decode(ids, skip_special_tokens=False) == text
    return {"text": text, "ids": ids}
