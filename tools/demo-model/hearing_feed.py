"""Feeds the training of hearing: synthesisers make clips in other processes, others pack them into rows, a thread copies to the GPU.

There is one pool of clips for each synthesiser, and each batch has a fixed share of each. A pool is replaced when a larger one is made.
"""

from __future__ import annotations

import json
import multiprocessing as mp
import os
import queue
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

import speech
from media import Writer, clip_sample, pack
from media_feed import to_device
from speech_features import soft_token_count
from speech_warp import new_lengths

HERE = Path(__file__).parent
CLIP_SAMPLES, CLIP_FRAMES, CLIP_SECONDS = 76_800, 480, 4.7
CLIP_TOKENS = CLIP_FRAMES // 4
# Share of each batch, and clips of the first and of the second pool.
POOLS = {
    "flite": (0.4, 4000, 24_000),
    "festival": (0.18, 1500, 8000),
    "espeak": (0.2, 5000, 24_000),
    "espeak-wide": (0.22, 5000, 24_000),
}


def pack_batches(commands, out, tokenizer: str, sizes: tuple[int, int], seed: int) -> None:
    """Work of a process: batches of the pools that the last command names."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)
    count, rows = sizes
    writer, r, numbers = Writer(Tokenizer.from_file(tokenizer)), random.Random(seed), np.random.default_rng(seed)
    version, pools = commands.get()
    loaded: list = []
    while True:
        if not loaded:
            for folder, share, offset in pools:
                starts, lengths = np.load(folder / "clips.npy")
                loaded.append((share, starts + offset, lengths, json.loads((folder / "texts.json").read_text())))
        starts, lengths, texts = [], [], []
        wanted = [round(count * part[0]) for part in loaded]
        wanted[0] += count - sum(wanted)
        for number, (_, first, length, text) in zip(wanted, loaded, strict=True):
            chosen = r.choices(range(len(text)), k=number)
            starts.append(first[chosen])
            lengths.append(length[chosen])
            texts += [text[i] for i in chosen]
        starts, lengths = np.concatenate(starts), np.concatenate(lengths)
        changed = new_lengths(numbers, lengths, CLIP_SAMPLES)
        samples = [clip_sample(r, writer, text, soft_token_count(int(n))) for text, n in zip(texts, changed)]
        order = r.sample(range(count), count)
        packed = pack([samples[i] for i in order], [1 + i * CLIP_TOKENS for i in order], rows)
        out.put((version, packed, starts, lengths, changed))
        try:
            version, pools = commands.get_nowait()
            loaded = []
        except queue.Empty:
            pass


class Pools:
    """Clips on the GPU, and batches of them."""

    def __init__(
        self, work: Path, bundle: Path, tokenizer: str, count: int, rows: int, processes: int, scale: float, seed: int
    ) -> None:
        """Starts all processes; to be called before anything uses the GPU. `scale` multiplies the sizes of pools."""
        self.work, self.bundle, self.processes, self.scale, self.seed = work, bundle, processes, scale, seed
        self.made = {name: self._start(name, 0) for name in POOLS}
        context = mp.get_context("fork")
        self.out = context.Queue(maxsize=12)
        self.commands, self.packers = [], []
        for i in range(4):
            self.commands.append(context.Queue())
            arguments = (self.commands[-1], self.out, tokenizer, (count, rows), seed + i)
            self.packers.append(context.Process(target=pack_batches, args=arguments, daemon=True))
            self.packers[-1].start()
        self.ready: queue.Queue = queue.Queue(maxsize=6)
        self.audio: dict[int, torch.Tensor] = {}
        self.clips = 0

    def _start(self, name: str, stage: int) -> tuple[int, subprocess.Popen]:
        share, *clips = POOLS[name]
        # Flite and festival take most of the time.
        processes = max(1, round(self.processes * {"flite": 0.35, "festival": 0.4}.get(name, 0.125)))
        command = [sys.executable, str(HERE / "speech.py"), str(self.work / f"{name}-{stage}")]
        command += ["--bundle", str(self.bundle), "--synthesiser", name, "--seed", str(self.seed + stage)]
        command += ["--clips", str(max(8, round(clips[stage] * self.scale))), "--seconds", str(CLIP_SECONDS)]
        return stage, subprocess.Popen([*command, "--processes", str(processes)], stdout=subprocess.DEVNULL)

    def begin(self, device: torch.device) -> None:
        """Waits for the first pools and starts the second ones; batches come from then on.

        A synthesiser that fails is left out, and the first one takes its share.
        """
        self.device = device
        self.working = [name for name, (_, process) in self.made.items() if process.wait() == 0]
        if failed := [name for name in POOLS if name not in self.working]:
            print(f"left out after the errors above: {', '.join(failed)}", flush=True)
        self._publish()
        self.made = {name: self._start(name, 1) for name in self.working}
        threading.Thread(target=self._copy, daemon=True).start()

    def _publish(self) -> None:
        """Copies all current pools to the GPU and tells the packing processes."""
        version = len(self.audio) + 1
        parts, folders, offset, clips = [], [], 0, 0
        for name in self.working:
            share = POOLS[name][0]
            done = [stage for stage in (0, 1) if (self.work / f"{name}-{stage}" / "texts.json").exists()]
            folder = self.work / f"{name}-{done[-1]}"
            pool = speech.load(folder)
            parts.append(pool.audio)
            folders.append((folder, share, offset))
            offset += len(pool.audio)
            clips += len(pool.texts)
        self.audio[version] = to_device(self.device, np.concatenate(parts))[0]
        self.clips = clips
        for commands in self.commands:
            commands.put((version, folders))

    def renew(self) -> bool:
        """Takes the second pools once all of them are made."""
        if not self.made or any(process.poll() is None for _, process in self.made.values()):
            return False
        self.made = {}
        threading.Thread(target=self._publish, daemon=True).start()
        return True

    def _copy(self) -> None:
        while True:
            version, *arrays = self.out.get()
            self.ready.put((self.audio[version], *to_device(self.device, *arrays)))

    def next(self) -> tuple[torch.Tensor, ...]:
        """Audio of all clips, rows [4, rows, ROW], starts, lengths and changed lengths [B]."""
        return self.ready.get()

    def close(self) -> None:
        for _, process in self.made.values():
            process.terminate()
        for process in self.packers:
            process.terminate()
