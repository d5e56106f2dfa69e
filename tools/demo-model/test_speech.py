"""Checks the training data of the audio tower: features against the fixtures, transcripts, splits, rooms, repeatability.

python3 test_speech.py [ESPEAK_DIR]      without the bundle's folder nothing is synthesised
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

import speech
import speech_features as features
from corpus import seeded
from speech_ctc import SpellingHead, spelled
from speech_room import Room
from speech_texts import is_held_out, line, normalise, number_words, word_errors
from speech_voice import HELD_OUT_VARIANTS, VARIANTS

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TRANSCRIPTS = {
    "12 + 7 = 19": "twelve plus seven equals nineteen",
    "Twelve plus seven equals nineteen.": "twelve plus seven equals nineteen",
    "What's 5-3?": "what's five minus three",
    "Tom's 2 Cats!": "tom's two cats",
    "three hundred and five apples and pears": "three hundred five apples and pears",
    "4 x 5 =": "four times five equals",
    "1,250": "one thousand two hundred fifty",
    "007": "zero zero seven",
    "What colour is Karl\u2019s twenty-one, Karl?": "what color is karl's twenty one carl",
}


def check_features() -> str:
    """Every reference case, alone and all in one batch, and the counts."""
    stored = load_file(FIXTURES / "audio_preprocess.safetensors")
    cases = sorted({name.split(".")[0] for name in stored})
    longest = max(len(stored[f"{case}.waveform"]) for case in cases)
    worst = 0.0
    for width in (None, longest + 999):
        for case in cases:
            wave, wanted, mask = (stored[f"{case}.{part}"] for part in ("waveform", "features", "mask"))
            padded = torch.zeros(1, width or len(wave))
            padded[0, : len(wave)] = wave
            got, valid = features.log_mel(padded, torch.tensor([len(wave)]))
            if width is None:
                assert got.shape[1] == len(wanted) == features.frame_count(len(wave)), (case, got.shape)
            count = int(mask.sum())
            assert torch.equal(valid[0, : len(mask)], mask.bool()) and int(valid.sum()) == count, case
            assert not got[0, count:].any(), case
            error = (got[0, :count] - wanted[:count]).norm() / wanted[:count].norm().clamp_min(1e-9)
            worst = max(worst, float(error))
    assert worst < 1e-5, worst
    for samples, frames, valid_frames, tokens in json.loads((FIXTURES / "audio_counts.json").read_text())["rows"]:
        # The caller cuts clips longer than 30 s.
        samples = min(samples, 480_000)
        received = (
            features.frame_count(samples),
            features.valid_frame_count(samples),
            features.soft_token_count(samples),
        )
        assert received == (frames, valid_frames, tokens), (samples, received)
    return f"features: {len(cases)} cases, relative error {worst:.1e}"


def check_texts() -> str:
    for text, wanted in TRANSCRIPTS.items():
        assert normalise(text) == wanted, (text, normalise(text))
    for value in (0, 10, 19, 20, 21, 99, 100, 101, 110, 999):
        assert normalise(str(value)) == number_words(value) == normalise(number_words(value))
    assert word_errors("one two three four", "1 x three four five") == (2, 4)
    assert word_errors("red", "") == (1, 1) and word_errors("red ball", "Red ball!") == (0, 2)
    r = seeded(7, "test")
    trained = {line(r, False).transcript for _ in range(5000)}
    held_out = {line(r, True).transcript for _ in range(200)}
    assert not trained & held_out and all(map(is_held_out, held_out)) and not any(map(is_held_out, trained))
    assert all(normalise(text) == text for text in trained | held_out)
    assert not set(VARIANTS) & set(HELD_OUT_VARIANTS)
    return f"texts: {len(trained)} of 5000 differ"


def check_room() -> str:
    waves = torch.sin(torch.arange(16_000) * 0.3)[None] * torch.tensor([[0.1], [0.2], [0.05]])
    lengths = torch.tensor([16_000, 9000, 12_000])
    waves = waves * (torch.arange(16_000) < lengths[:, None])

    def run(strength: float) -> torch.Tensor:
        return Room(torch.Generator().manual_seed(5), strength)(waves, lengths)

    changed = run(1.0)
    assert torch.equal(changed, run(1.0)) and changed.isfinite().all() and float(changed.abs().max()) <= 1
    assert not changed[1, 9000:].any() and changed[1, :9000].any()
    quiet = run(0.0)
    same = torch.nn.functional.cosine_similarity(quiet, waves)
    assert float(same.min()) > 0.999, same
    return "room: repeatable"


def check_spelling() -> str:
    """Free parameters learn to spell two texts of different lengths, with a doubled letter."""
    torch.manual_seed(1)
    texts, counts = ["three red balls", "two"], torch.tensor([40, 12])
    rows, head = torch.randn(2, 40, 32).requires_grad_(), SpellingHead(32)
    optimiser = torch.optim.Adam([rows, *head.parameters()], 0.05)
    for _ in range(150):
        optimiser.zero_grad()
        head.loss(rows, counts, *spelled(texts)).backward()
        optimiser.step()
    assert head.read(rows, counts) == texts, head.read(rows, counts)
    return "spelling: learned"


def check_clips(bundle: Path) -> str:
    """The same clips with one process and with three."""
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for processes in (1, 3):
            out = Path(folder) / str(processes)
            speech.make(out, bundle, speech.SHARD + 20, 3, processes)
            made.append(speech.load(out))
    first, second = made
    assert np.array_equal(first.audio, second.audio) and first.texts == second.texts
    assert int(first.lengths.max()) <= 6 * 16_000 and len(first.lengths) == len(first.texts) == speech.SHARD + 20
    assert np.array_equal(first.samples(1), first.audio[first.lengths[0] : first.lengths[0] + first.lengths[1]])
    return f"clips: {len(first.texts)}, the same with 1 and 3 processes"


def main() -> None:
    print(check_features())
    print(check_texts())
    print(check_room())
    print(check_spelling())
    if len(sys.argv) > 1:
        print(check_clips(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
