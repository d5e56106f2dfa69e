import { describe, expect, it } from 'vitest';
import { TokenRun } from './token-run.js';

const tokens = Int32Array.of(2, 7, 7);
const PROMPT = {
  begin: 0,
  end: 3,
  tokens,
  layerTokens: tokens,
  visibleEnd: Int32Array.of(0, 1, 2),
  keys: [2, 7, 7],
  soft: [null, null, null],
};
const SETTINGS = {
  sampling: { temperature: 1, seed: 9 },
  hasPenalty: true,
  maxTokens: 3,
  stopTokenIds: new Set([1]),
  reusePrefix: false,
  constraint: null,
  speculation: false,
  prediction: [],
};
const MODEL = { settings: { contextTokens: 100 } } as never;
const choice = (token: number) => ({ token, logprob: 0, topLogprobs: [] });

describe('TokenRun', () => {
  it('counts draws and generated tokens', () => {
    const run = new TokenRun(MODEL, PROMPT, SETTINGS);
    expect(run.sampling).toMatchObject({ seed: 9, draw: 0 });
    expect(run.sampling.history).toEqual(
      new Map([
        [2, 0],
        [7, 0],
      ]),
    );
    run.accept(choice(7));
    run.accept(choice(8));
    expect(run.sampling.draw).toBe(2);
    expect(run.sampling.history).toEqual(
      new Map([
        [2, 0],
        [7, 1],
        [8, 1],
      ]),
    );
    expect(run.finish).toBeNull();
  });

  it('does not keep a history without penalties', () => {
    const run = new TokenRun(MODEL, PROMPT, { ...SETTINGS, hasPenalty: false });
    expect(run.sampling.history).toBeUndefined();
  });

  it('asks its constraint before every token, and passes it the sampled token', () => {
    const seen: number[] = [];
    const constraint = {
      allowed: () => (seen.length === 0 ? Int32Array.of(4) : null),
      accept: (token: number) => void seen.push(token),
    };
    const run = new TokenRun(MODEL, PROMPT, { ...SETTINGS, constraint });
    expect(run.sampling.allowed).toEqual(Int32Array.of(4));
    run.accept(choice(2));
    expect(run.sampling.allowed).toBeUndefined();
    expect(seen).toEqual([2]);
  });

  it('ends at a stop token, at the limit, and at the end of the context', () => {
    const stopped = new TokenRun(MODEL, PROMPT, SETTINGS);
    stopped.accept(choice(1));
    expect(stopped).toMatchObject({ finish: 'stop', stopToken: 1 });
    const limited = new TokenRun(MODEL, PROMPT, SETTINGS);
    for (const token of [4, 5, 6]) limited.accept(choice(token));
    expect(limited).toMatchObject({ finish: 'length', stopToken: null });
    const full = new TokenRun({ settings: { contextTokens: 5 } } as never, PROMPT, SETTINGS);
    full.accept(choice(4));
    full.accept(choice(5));
    expect(full.finish).toBe('length');
  });
});
