"""Tiny byte-level BPEs: `tokenizer.json`, and `text.json` with texts and their ids."""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

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


# Where text is split before bytes are merged, as the published tokenizers of the two families have it.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def make(folder: Path) -> int:
    """Trains and writes a tokenizer as GPT-2's, returns its vocabulary size."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    train(tok, special_tokens=[END_OF_TEXT])
    save(folder, tok, TEXTS)
    return tok.get_vocab_size()


def make_llama3(folder: Path) -> list[int]:
    """As Llama 3's: merges are ignored for whole words, a text begins with a token. Returns its special tokens."""
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = split("{1,3}")
    tok.decoder = decoders.ByteLevel()
    train(tok)
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    specials = add_specials(tok, names)
    tok.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single=f"{names[0]} $A", pair=f"{names[0]} $A {names[0]} $B", special_tokens=[(names[0], specials[0])]
        ),
    ])
    save(folder, tok, [text.replace(END_OF_TEXT, names[2]) for text in TEXTS])
    return specials


def make_qwen2(folder: Path) -> list[int]:
    """As Qwen2's: combining accents are composed (NFC), digits stand alone. Returns its special tokens."""
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = split("")
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    train(tok)
    specials = add_specials(tok, [END_OF_TEXT, "<|im_start|>", "<|im_end|>"])
    save(folder, tok, TEXTS)
    return specials


def split(digits: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT.replace("DIGITS", digits)), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])


def train(tok: Tokenizer, special_tokens: list[str] = []) -> None:
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=special_tokens,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tok.train_from_iterator(CORPUS, trainer)


def add_specials(tok: Tokenizer, names: list[str]) -> list[int]:
    """Adds special tokens after the vocabulary, and returns their ids."""
    tok.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    return [tok.token_to_id(name) for name in names]


def save(folder: Path, tok: Tokenizer, texts: list[str]) -> None:
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    pairs = [json.dumps(pair(tok, text), ensure_ascii=False) for text in texts]
    (folder / "text.json").write_text("[\n" + ",\n".join(pairs) + "\n]\n", encoding="utf-8")


def pair(tok: Tokenizer, text: str) -> dict:
    ids = tok.encode(text).ids
    kept = tok.encode(text, add_special_tokens=False).ids
    normal = tok.normalizer.normalize_str(text) if tok.normalizer else text
    assert tok.decode(kept, skip_special_tokens=False) == normal
    return {"text": text, "ids": ids}
