"""Trains the demo model's BPE tokenizer on its own corpus and writes the tokenizer's files.

Same construction as Gemma 4's: spaces become U+2581, digits stand alone, unknown characters become UTF-8 byte tokens,
special tokens have Gemma 4's literal texts. Only the ids and the size of the vocabulary differ.

    python3 tokenizer.py OUT_DIR
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

import corpus
from dialogue import segments
from words import Lexicon

VOCABULARY = 1536
SEED = 20261129
CONVERSATIONS = 60_000

PAD, EOS, BOS, UNK = "<pad>", "<eos>", "<bos>", "<unk>"
SPECIAL = [
    PAD,
    EOS,
    BOS,
    UNK,
    "<mask>",
    "<|tool>",
    "<tool|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|tool_response>",
    "<tool_response|>",
    '<|"|>',
    "<|think|>",
    "<|channel>",
    "<channel|>",
    "<|turn>",
    "<turn|>",
    "<|image>",
    "<image|>",
    "<|image|>",
    "<|audio>",
    "<audio|>",
    "<|audio|>",
    "<|video|>",
]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPACE = "\u2581"
CHARACTERS = [SPACE, "\n", *(chr(code) for code in range(33, 127))]


def training_texts() -> list[str]:
    """The corpus without its special tokens, as pieces of text."""
    lexicon, texts = Lexicon(False), []
    r = corpus.seeded(SEED, "tokenizer")
    for _ in range(CONVERSATIONS):
        kind = r.choices(corpus.KINDS, corpus.SHARES)[0]
        text = "".join(piece for piece, _ in segments(corpus.conversation(r, lexicon, kind)))
        for special in SPECIAL:
            text = text.replace(special, "\0")
        texts += [piece for piece in text.split("\0") if piece]
    return texts


def train() -> tuple[dict[str, int], list[list[str]]]:
    """Vocabulary and merges: special tokens, bytes and characters first, then merged pieces in the order in which they were learned."""
    learner = Tokenizer(models.BPE(unk_token=None))
    learner.normalizer = normalizers.Replace(" ", SPACE)
    # Only words (with the preceding space) and runs of punctuation are merged, so that no merge contains a digit, a line end or two words.
    # Encoding therefore needs no pre-tokenizer.
    pieces = Regex(SPACE + r"?\p{L}+|\p{N}|" + SPACE + r"|\n|[^\p{L}\p{N}\n" + SPACE + "]+")
    learner.pre_tokenizer = pre_tokenizers.Split(pieces, behavior="isolated")
    size = VOCABULARY - len(SPECIAL) - len(BYTES)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=CHARACTERS,
        limit_alphabet=len(CHARACTERS),
        show_progress=False,
        min_frequency=2,
    )
    learner.train_from_iterator(training_texts(), trainer)
    learned = json.loads(learner.to_str())["model"]
    merges = [merge if isinstance(merge, list) else merge.split(" ") for merge in learned["merges"]]
    order = [*SPECIAL, *BYTES, *CHARACTERS, *("".join(merge) for merge in merges)]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys(order))}
    assert len(vocabulary) <= VOCABULARY, len(vocabulary)
    for index in range(len(vocabulary), VOCABULARY):
        vocabulary[f"<unused{index}>"] = index
    return vocabulary, merges


def tokenizer_json(vocabulary: dict[str, int], merges: list[list[str]]) -> dict:
    bos = vocabulary[BOS]
    template = {"SpecialToken": {"id": BOS, "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary[token],
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in SPECIAL
        ],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [template, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [
                template,
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": BOS, "type_id": 1}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {BOS: {"id": BOS, "ids": [bos], "tokens": [BOS]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": UNK,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "processor_class": "Gemma4Processor",
    "model_max_length": 2048,
    "padding_side": "left",
    "clean_up_tokenization_spaces": False,
    "bos_token": BOS,
    "eos_token": EOS,
    "pad_token": PAD,
    "unk_token": UNK,
    "mask_token": "<mask>",
    "extra_special_tokens": {
        "sot_token": "<|turn>",
        "eot_token": "<turn|>",
        "soc_token": "<|channel>",
        "eoc_token": "<channel|>",
        "think_token": "<|think|>",
        "escape_token": '<|"|>',
        "std_token": "<|tool>",
        "etd_token": "<tool|>",
        "stc_token": "<|tool_call>",
        "etc_token": "<tool_call|>",
        "str_token": "<|tool_response>",
        "etr_token": "<tool_response|>",
        "boi_token": "<|image>",
        "eoi_token": "<image|>",
        "image_token": "<|image|>",
        "boa_token": "<|audio>",
        "eoa_token": "<audio|>",
        "audio_token": "<|audio|>",
        "video_token": "<|video|>",
    },
}


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    vocabulary, merges = train()
    (out / "tokenizer.json").write_text(
        json.dumps(tokenizer_json(vocabulary, merges), ensure_ascii=False, separators=(",", ":")) + "\n"
    )
    (out / "tokenizer_config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    sample = "<bos><|turn>user\nTell me a story about Zoë and 42 kites!<turn|>\n"
    ids = tokenizer.encode(sample, add_special_tokens=False).ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == sample
    print(len(vocabulary), "tokens;", [tokenizer.id_to_token(index) for index in ids])


if __name__ == "__main__":
    main()
