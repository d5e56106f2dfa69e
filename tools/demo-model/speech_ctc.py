"""An auxiliary task for the audio tower: spell the transcript in letters, by connectionist temporal classification.

Soft tokens come 25 to the second, letters hardly faster than 15, so each row of the tower's output says one letter or
nothing. The tower learns where sounds are within minutes, which it learns late from the decoder's loss alone. The head is
only for training and is not stored.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BLANK = 0
LETTERS = " abcdefghijklmnopqrstuvwxyz'"
CODES = {letter: code for code, letter in enumerate(LETTERS, 1)}
SIZE = len(LETTERS) + 1


def spelled(transcripts: list[str]) -> tuple[Tensor, Tensor]:
    """Codes [B, longest] int64 of normalised transcripts, padded with zeros, and lengths [B]."""
    codes = [torch.tensor([CODES[letter] for letter in text]) for text in transcripts]
    return nn.utils.rnn.pad_sequence(codes, batch_first=True), torch.tensor([len(code) for code in codes])


class SpellingHead(nn.Module):
    """Letters from the tower's output rows [B, T, width]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, SIZE)

    def forward(self, rows: Tensor) -> Tensor:
        """Log-probabilities [B, T, SIZE], float32."""
        return F.log_softmax(self.linear(self.norm(rows.float())).float(), -1)

    def loss(self, rows: Tensor, counts: Tensor, codes: Tensor, lengths: Tensor) -> Tensor:
        """Mean loss per letter; rows[b, counts[b]:] are padding. Texts with more letters than rows count as zero."""
        losses = F.ctc_loss(
            self(rows).transpose(0, 1), codes, counts, lengths, BLANK, reduction="sum", zero_infinity=True
        )
        return losses / lengths.sum()

    @torch.no_grad()
    def read(self, rows: Tensor, counts: Tensor) -> list[str]:
        """The likeliest letter of each row, repeats and blanks removed."""
        texts = []
        for best, count in zip(self(rows).argmax(-1).tolist(), counts.tolist(), strict=True):
            kept = [code for at, code in enumerate(best[:count]) if code != BLANK and (at == 0 or code != best[at - 1])]
            texts.append("".join(LETTERS[code - 1] for code in kept))
        return texts
