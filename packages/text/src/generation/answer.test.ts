import { beforeAll, describe, expect, it } from 'vitest';
import { loadTestTokenizer } from '../../test/test-tokenizer.js';
import type { PromptRows } from '../engine/prompt.js';
import type { Language } from '../language.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { Answer, type AnswerOptions } from './answer.js';
import type { GenerateEvent } from './events.js';
import type { TokenSettings } from './token-options.js';
import { TokenRun } from './token-run.js';

let tokenizer: Tokenizer;
let language: Language;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
  language = { tokenizer, template: null, endOfTurnIds: [], bosId: tokenizer.idOf('<bos>') };
});

const PROMPT: PromptRows = {
  begin: 0,
  end: 2,
  tokens: Int32Array.of(2, 30),
  layerTokens: Int32Array.of(2, 30),
  visibleEnd: Int32Array.of(0, 1),
  keys: [2, 30],
  soft: [null, null],
};

/** Feeds the text token by token, as a model would write it; control tokens are recognised. */
function answer(
  text: string | number[],
  options: Partial<AnswerOptions> = {},
  settings: Partial<TokenSettings> = {},
): { events: GenerateEvent[]; run: TokenRun } {
  const stopTokenIds = new Set([tokenizer.idOf('<turn|>')!, tokenizer.idOf('<|tool_response>')!]);
  const run = new TokenRun({ settings: { contextTokens: 400 } } as never, PROMPT, {
    sampling: { seed: 5 },
    hasPenalty: false,
    maxTokens: 1000,
    stopTokenIds,
    reusePrefix: false,
    constraint: null,
    speculation: false,
    prediction: [],
    ...settings,
  });
  const reader = new Answer(run, language, {
    isReasoningOpen: false,
    startMs: performance.now(),
    ...options,
  });
  const events: GenerateEvent[] = [];
  const ids = typeof text === 'string' ? tokenizer.encode(text, { parseSpecial: true }) : text;
  for (const token of ids) {
    if (run.finish !== null) break;
    const choice = { token, logprob: -1, topLogprobs: [] };
    run.accept(choice);
    events.push(...reader.push(choice));
  }
  return { events, run };
}

const textOf = (events: GenerateEvent[], type: 'text' | 'reasoning' = 'text') =>
  events.map((event) => (event.type === type ? event.text : '')).join('');
const finishOf = (events: GenerateEvent[]) => {
  const last = events.at(-1);
  return last?.type === 'finish' ? last : null;
};

describe('Answer', () => {
  it('ends at the end-of-turn token, which is not text', () => {
    const { events } = answer('the weather<turn|>');
    expect(textOf(events)).toBe('the weather');
    expect(finishOf(events)).toMatchObject({
      reason: 'stop',
      stop: null,
      seed: 5,
      usage: { promptTokens: 2, completionTokens: tokenizer.encode('the weather').length + 1 },
    });
  });

  it('emits whole characters only, and a replacement for an invalid one', () => {
    const { events } = answer('né 🙂<turn|>');
    const pieces = events.flatMap((event) => (event.type === 'text' ? [event.text] : []));
    expect(pieces.join('')).toBe('né 🙂');
    expect(pieces.every((piece) => !piece.includes('\uFFFD'))).toBe(true);
    const half = [...tokenizer.encode('🙂')].slice(0, 2);
    const cut = answer([...tokenizer.encode('a'), ...half], {}, { maxTokens: 3 });
    expect(textOf(cut.events)).toBe('a\uFFFD\uFFFD');
    expect(finishOf(cut.events)).toMatchObject({ reason: 'length' });
  });

  it('ends before a stop string that spans tokens, and stops the run', () => {
    const { events, run } = answer('one two three four<turn|>', { stop: ['o th'] });
    expect(textOf(events)).toBe('one tw');
    expect(finishOf(events)).toMatchObject({ reason: 'stop', stop: 'o th' });
    expect(run.tokens.length).toBe(tokenizer.encode('one two th').length);
  });

  it('shows text that only looked like the start of a stop string', () => {
    expect(textOf(answer('one two<turn|>', { stop: ['two three'] }).events)).toBe('one two');
  });

  it('separates reasoning, in which stop strings have no effect', () => {
    const { events } = answer('<|channel>thought\nstop here\n<channel|>go on<turn|>', { stop: ['here'] });
    expect(textOf(events, 'reasoning')).toBe('stop here');
    expect(textOf(events)).toBe('go on');
    expect(finishOf(events)).toMatchObject({ reason: 'stop', stop: null });
    expect(textOf(answer('so\n<channel|>it is<turn|>', { isReasoningOpen: true }).events, 'reasoning')).toBe(
      'so',
    );
  });

  it('reports tool calls with unique ids, and finishes with tool-calls', () => {
    const call = '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>';
    const { events } = answer(`${call}${call}<|tool_response>`);
    const calls = events.flatMap((event) => (event.type === 'tool-call' ? [event] : []));
    expect(calls.map(({ name, arguments: values }) => [name, values])).toEqual(
      new Array(2).fill(['get_weather', { city: 'Paris', days: 2 }]),
    );
    expect(calls[0]!.id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(calls[1]!.id).not.toBe(calls[0]!.id);
    expect(finishOf(events)).toMatchObject({ reason: 'tool-calls' });
  });

  it('ends after the first call if only one is allowed', () => {
    const calls = '<|tool_call>call:a{}<tool_call|><|tool_call>call:b{}<tool_call|><|tool_response>';
    const names = (options: Partial<AnswerOptions>) =>
      answer(calls, options).events.flatMap((event) =>
        event.type === 'tool-call' ? [event.name] : [event.type],
      );
    expect(names({})).toEqual(['a', 'b', 'finish']);
    expect(names({ parallelToolCalls: false })).toEqual(['a', 'finish']);
  });

  it('counts reasoning tokens, including delimiters', () => {
    const { events, run } = answer('<|channel>thought\nhm<channel|>Yes<turn|>');
    const { usage } = events.at(-1) as { usage: { reasoningTokens: number; completionTokens: number } };
    expect(usage.completionTokens).toBe(run.tokens.length);
    expect(usage.reasoningTokens).toBe(run.tokens.length - tokenizer.encode('Yes').length - 1);
  });

  it('hides a stop token that is ordinary text, and ends with length at the limit', () => {
    const stop = tokenizer.idOf('!')!;
    const hidden = answer('yes! no', {}, { stopTokenIds: new Set([stop]) });
    expect(textOf(hidden.events)).toBe('yes');
    const short = answer('the weather', {}, { maxTokens: 2 });
    expect(finishOf(short.events)).toMatchObject({ reason: 'length', usage: { completionTokens: 2 } });
  });

  it('reports every token with its text on request', () => {
    const { events } = answer('ab<turn|>', { logprobs: true });
    const tokens = events.flatMap((event) => (event.type === 'token' ? [event] : []));
    expect(tokens.map(({ text }) => text)).toEqual(['a', 'b', '<turn|>']);
    expect(tokens[0]).toMatchObject({ token: tokenizer.idOf('a'), logprob: -1, topLogprobs: [] });
  });

  it('reports the part that every token belongs to', () => {
    const output =
      '<|channel>thought\nhm<channel|>ok<|tool_call>call:f{a:<|"|>b<|"|>}<tool_call|><|tool_response>';
    const { events } = answer(output, { logprobs: true });
    const parts = new Map<string, string>();
    for (const event of events) {
      if (event.type === 'token') parts.set(event.part, (parts.get(event.part) ?? '') + event.text);
    }
    expect(Object.fromEntries(parts)).toEqual({
      control: '<|channel><channel|><|tool_call><tool_call|><|tool_response>',
      reasoning: 'thought\nhm',
      text: 'ok',
      'tool-call': 'call:f{a:<|"|>b<|"|>}',
    });
  });

  it('warns about a call that cannot be read', () => {
    const { events } = answer("<|tool_call>call:f{a:'x, b: y'}<tool_call|><turn|>");
    expect(textOf(events)).toBe("call:f{a:'x, b: y'}");
    expect(events.at(-1)).toMatchObject({
      reason: 'stop',
      warnings: [expect.stringContaining("call:f{a:'x")],
    });
  });
});
