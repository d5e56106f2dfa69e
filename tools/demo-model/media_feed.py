"""Feeds training with batches of pictures, clips and conversations: processes create them, threads copy them to the GPU."""

from __future__ import annotations

import os
import queue
import random
import threading
import time
from pathlib import Path

import numpy as np
import torch

import corpus
import speech
import train
from media import Writer, clip_sample, pack, scene_unit
from scenes import make_scene, patches_of, question
from speech_ctc import spelled
from speech_features import soft_token_count

CLIP_SAMPLES, CLIP_FRAMES = 96_000, 600
CLIP_TOKENS = CLIP_FRAMES // 4
WRITER: Writer | None = None
# Held while data is copied to the GPU, so that nothing else happens there while a step is recorded.
GPU = threading.RLock()
THREAD = threading.local()


def start_worker(tokenizer: str) -> None:
    global WRITER
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)
    train.start_worker(tokenizer)
    WRITER = Writer(train.TOKENIZER)


def scene_job(job: tuple[int, int, int, list[Path], Path]) -> tuple[Path, np.ndarray, np.ndarray]:
    """A unit of pictures; the patches are in a file, because pipes between processes are slow."""
    number, count, rows, fonts, folder = job
    patches, grids, packed = scene_unit(WRITER, train.SEED, number, count, rows, fonts)
    path = folder / f"scenes-{number}.u8"
    patches.tofile(path)
    return path, grids, packed


def held_out_job(job: tuple[int, list[Path]]) -> tuple:
    """A held-out scene: patches, grid, question, answer."""
    index, fonts = job
    scene = make_scene(train.SEED, index, fonts, held_out=True)
    patches, grid = patches_of(scene.image)
    ask, answer = question(corpus.seeded(train.SEED, "held-out question", index), scene)
    return patches.reshape(-1, 768), grid, ask, answer


def to_device(device: torch.device, *arrays) -> list[torch.Tensor]:
    """Arrays on the device, copied on a separate stream of the thread, because the main one is busy for whole steps."""
    with GPU:
        if device.type != "cuda":
            return [torch.as_tensor(array).to(device) for array in arrays]
        if not hasattr(THREAD, "stream"):
            THREAD.stream = torch.cuda.Stream()
        with torch.cuda.stream(THREAD.stream):
            made = [torch.as_tensor(array).to(device) for array in arrays]
        THREAD.stream.synchronize()
        for tensor in made:
            tensor.record_stream(torch.cuda.default_stream())
        return made


class Scenes:
    """Units of pictures on the GPU: new ones arrive as fast as processes draw them; meanwhile old ones are reused."""

    def __init__(
        self, pool, count: int, rows: int, fonts: list[Path], folder: Path, device, most: int, ahead: int
    ) -> None:
        self.device, self.count, self.most = device, count, most
        self.units: list[tuple] = []
        self.fresh: queue.Queue = queue.Queue(maxsize=16)
        self.made = 0
        jobs = ((number, count, rows, fonts, folder) for number in range(int(time.time()) % 1000 * 10**6, 10**12))
        self.thread = threading.Thread(target=self._fill, args=(pool, jobs, ahead), daemon=True)
        self.thread.start()

    def _fill(self, pool, jobs, ahead: int) -> None:
        pending: list = []
        while True:
            while len(pending) < ahead:
                pending.append(pool.apply_async(scene_job, (next(jobs),)))
            path, grids, rows = pending.pop(0).get()
            patches = np.fromfile(path, np.uint8).reshape(self.count, -1, 768)
            path.unlink()
            self.fresh.put(tuple(to_device(self.device, patches, grids, rows)))

    def next(self) -> tuple:
        try:
            unit = self.fresh.get(block=not self.units)
        except queue.Empty:
            return random.choice(self.units)
        self.made += 1
        if len(self.units) < self.most:
            self.units.append(unit)
        else:
            self.units[self.made % self.most] = unit
        return unit


class Speech:
    """Clips on the GPU, and batches of them with rows packed in a thread."""

    def __init__(self, folder: Path, writer: Writer, count: int, rows: int, device) -> None:
        self.writer, self.count, self.rows, self.device = writer, count, rows, device
        self.load(folder)
        self.ready: queue.Queue = queue.Queue(maxsize=8)
        threading.Thread(target=self._fill, daemon=True).start()

    def load(self, folder: Path) -> None:
        clips = speech.load(folder)
        codes, sizes = spelled([text["transcript"] for text in clips.texts])
        audio = to_device(self.device, clips.audio)[0]
        self.clips = (
            audio,
            clips.starts,
            clips.lengths,
            clips.texts,
            codes.to(torch.int16),
            sizes,
        )
        print(len(clips.texts), "clips", flush=True)

    def _fill(self) -> None:
        r = random.Random(train.SEED)
        while True:
            audio, starts, lengths, texts, codes, sizes = self.clips
            chosen = np.array(r.sample(range(len(texts)), self.count))
            counts = [soft_token_count(int(lengths[i])) for i in chosen]
            samples = [clip_sample(r, self.writer, texts[i], n) for i, n in zip(chosen, counts)]
            rows = pack(samples, [j * CLIP_TOKENS for j in range(self.count)], self.rows)
            letters = codes[chosen][:, : int(sizes[chosen].max())].long()
            parts = to_device(self.device, rows, starts[chosen], lengths[chosen], letters)
            # Sizes stay on the host: the loss needs them there, and would otherwise wait for the GPU.
            self.ready.put((audio, *parts, sizes[chosen], torch.tensor(counts)))

    def next(self) -> tuple:
        return self.ready.get()


class Texts:
    """Rows of conversations."""

    def __init__(self, pool, first_shard: int, rows: int, device, ahead: int) -> None:
        self.rows, self.device = rows, device
        self.ready: queue.Queue = queue.Queue(maxsize=16)
        threading.Thread(target=self._fill, args=(pool, first_shard, ahead), daemon=True).start()

    def _fill(self, pool, shard: int, ahead: int) -> None:
        pending: list = []
        while True:
            while len(pending) < ahead:
                pending.append(pool.apply_async(train.shard_job, ((shard, False),)))
                shard += 1
            rows = pending.pop(0).get().astype(np.int32)
            rows = rows[np.random.default_rng(shard).permutation(len(rows))]
            for part in to_device(self.device, rows)[0].split(self.rows):
                if len(part) == self.rows:
                    self.ready.put(part)

    def next(self) -> torch.Tensor:
        return self.ready.get()
