import { beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { loadTestTokenizer, tokenizerJson } from '../../test/test-tokenizer.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { type ResponseEvent, ResponseParser } from './response-parser.js';

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

/** Events of an output; adjacent events of one kind are joined. */
function parse(
  output: string,
  options: { isReasoningOpen?: boolean } = {},
  from = tokenizer,
): ResponseEvent[] {
  const parser = new ResponseParser(from, options);
  const ids = from.encode(output, { parseSpecial: true });
  const events = [...ids].flatMap((id) => parser.push(id)).concat(parser.finish());
  const joined: ResponseEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (event.type !== 'tool-call' && last?.type === event.type) {
      joined[joined.length - 1] = { type: event.type, text: last.text + event.text };
    } else joined.push(event);
  }
  return joined;
}

const text = (value: string): ResponseEvent => ({ type: 'text', text: value });
const reasoning = (value: string): ResponseEvent => ({ type: 'reasoning', text: value });
const call = (name: string, value: Record<string, unknown>) =>
  expect.objectContaining({ type: 'tool-call', name, arguments: value });

const weather = '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>';
const parsedWeather = call('get_weather', { city: 'Paris', days: 2 });

describe('ResponseParser', () => {
  it('passes on text, and ends with the turn', () => {
    expect(parse('Hello 😀!<turn|>\nmore')).toEqual([text('Hello 😀!')]);
    expect(parse('a<eos>b')).toEqual([text('a')]);
    const parser = new ResponseParser(tokenizer);
    expect(parser.isEnded).toBe(false);
    parser.push(tokenizer.idOf('<turn|>')!);
    expect(parser.isEnded).toBe(true);
  });

  it('splits reasoning from the answer', () => {
    expect(parse('<|channel>thought\nLet me\n\nsee.\n<channel|>It is 4.<turn|>')).toEqual([
      reasoning('Let me\n\nsee.'),
      text('It is 4.'),
    ]);
  });

  it('continues a thought that the prompt opened', () => {
    expect(parse('thinking\n<channel|>answer', { isReasoningOpen: true })).toEqual([
      reasoning('thinking'),
      text('answer'),
    ]);
  });

  it('ignores an empty thought', () => {
    expect(parse('<|channel>thought\n<channel|>yes')).toEqual([text('yes')]);
    expect(parse('<|channel><channel|>yes')).toEqual([text('yes')]);
    expect(parse('<|channel>thou')).toEqual([]);
  });

  it('keeps a channel without the usual header as reasoning', () => {
    expect(parse('<|channel>analysis\nhm<channel|>ok')).toEqual([reasoning('analysis\nhm'), text('ok')]);
    expect(parse('<|channel>those<channel|>ok')).toEqual([reasoning('those'), text('ok')]);
  });

  it('keeps a thought that stays open as reasoning', () => {
    expect(parse('<|channel>thought\nI am not done')).toEqual([reasoning('I am not done')]);
    expect(parse('<|channel>thought\nhm<turn|>')).toEqual([reasoning('hm')]);
  });

  it('reads a call', () => {
    expect(parse(`${weather}<|tool_response>`)).toEqual([parsedWeather]);
    expect(parse(weather)[0]).toMatchObject({ raw: 'call:get_weather{city:<|"|>Paris<|"|>,days:2}' });
  });

  it('reads several calls, with text and thoughts around them', () => {
    const output = `<|channel>thought\nhm\n<channel|>I look.${weather}\n${weather} <|tool_call>call:now{}<tool_call|>`;
    expect(parse(output)).toEqual([
      reasoning('hm'),
      text('I look.'),
      parsedWeather,
      parsedWeather,
      call('now', {}),
    ]);
  });

  it('reads nested values and literal strings', () => {
    const output = '<|tool_call>call:f{a:{b:[1,{c:<|"|>}],{ "x"<|"|>}]},d:true}<tool_call|>';
    expect(parse(output)).toEqual([call('f', { a: { b: [1, { c: '}],{ "x"' }] }, d: true })]);
  });

  it('distinguishes the quote token from the same characters inside a string', () => {
    const value = 'a<|"|>b 🏿';
    const parser = new ResponseParser(tokenizer);
    const special = (token: string) => parser.push(tokenizer.idOf(token)!);
    const plain = (written: string) => [...tokenizer.encode(written)].flatMap((id) => parser.push(id));
    special('<|tool_call>');
    plain('call:f{a:');
    special('<|"|>');
    plain(value);
    special('<|"|>');
    plain('}');
    expect(special('<tool_call|>')).toEqual([
      {
        type: 'tool-call',
        name: 'f',
        arguments: { a: value },
        argumentsJson: JSON.stringify({ a: value }),
        raw: `call:f{a:<|"|>${value}<|"|>}`,
      },
    ]);
  });

  it('reports calls that could not be read', () => {
    const parser = new ResponseParser(tokenizer);
    const output = "<|tool_call>call:f{a:'x, b: y'}<tool_call|>";
    const events = [...tokenizer.encode(output, { parseSpecial: true })].flatMap((id) => parser.push(id));
    expect(events).toEqual([text("call:f{a:'x, b: y'}")]);
    expect(parser.unreadableCalls).toEqual(["call:f{a:'x, b: y'}"]);
  });

  it('reads a call inside an open thought', () => {
    expect(parse(`<|channel>thought\nhm ${weather}`)).toEqual([reasoning('hm'), parsedWeather]);
  });

  it.each(['<|tool_response>', '<turn|>', '<|channel>', '<|tool_call>'])('ends a call at %s', (closing) => {
    expect(parse(`<|tool_call>call:now{}${closing}`)[0]).toEqual(call('now', {}));
  });

  it('repairs a call that lost a quote, and reports anything else as text', () => {
    expect(parse('<|tool_call>call:f{query:weather in Tokyo<|"|>}<tool_call|>')).toEqual([
      call('f', { query: 'weather in Tokyo' }),
    ]);
    expect(parse('<|tool_call>what is this<tool_call|>!')).toEqual([text('what is this!')]);
  });

  it('never reports a truncated call as a call', () => {
    const cut = 'call:delete{path:<|"|>/home<|"|>';
    expect(parse(`<|tool_call>${cut}`)).toEqual([text(cut)]);
    expect(parse('<|tool_call>call:now{}')).toEqual([call('now', {})]);
  });

  it('treats text that looks like control tokens as text', () => {
    const parser = new ResponseParser(tokenizer);
    const output = '<|tool_call>call:f{}<tool_call|> <turn|> <|channel>';
    const events = [...tokenizer.encode(output)].flatMap((id) => parser.push(id)).concat(parser.finish());
    expect(events.map((event) => (event.type === 'text' ? event.text : '?')).join('')).toBe(output);
  });

  it('drops control tokens that mean nothing here', () => {
    expect(parse('a<|image|><channel|><tool_call|><|think|><pad>b')).toEqual([text('ab')]);
    expect(parse('say <|"|>hi<|"|>')).toEqual([text('say "hi"')]);
  });

  it('does not split characters across events', () => {
    const parser = new ResponseParser(tokenizer);
    const events = [...tokenizer.encode('é😀')].map((id) => parser.push(id));
    expect(events).toEqual([[], [text('é')], [], [], [], [text('😀')]]);
    expect(parser.finish()).toEqual([]);
  });

  it('works without the tokens of a feature', async () => {
    const { vocab, ...model } = tokenizerJson().model as { vocab: Record<string, number> };
    const kept = Object.entries(vocab).filter(([token]) => !/tool|channel/.test(token));
    const plain = await loadTestTokenizer({
      added_tokens: [],
      model: { ...model, vocab: Object.fromEntries(kept) },
    });
    expect(parse('<|channel>thought\nhi<turn|>', {}, plain)).toEqual([text('<|channel>thought\nhi')]);
  });

  it('never throws, stalls or loses text on garbage', () => {
    const random = new SeededRandom(37);
    const control = [
      '<|channel>',
      '<channel|>',
      '<|tool_call>',
      '<tool_call|>',
      '<|"|>',
      '<pad>',
      '<|image|>',
    ];
    const plain = ['thought\n', 'call:f{', 'a:1', '}', '{', '[', ',', ' ', '\n', 'word', '😀', 'é'];
    for (let round = 0; round < 3000; round++) {
      const parser = new ResponseParser(tokenizer, { isReasoningOpen: random.next() < 0.2 });
      let hasWord = false;
      const events: ResponseEvent[] = [];
      for (let left = random.integer(0, 40); left > 0; left--) {
        const piece = random.pick(random.next() < 0.3 ? control : plain);
        hasWord ||= piece === 'word';
        for (const id of tokenizer.encode(piece, { parseSpecial: true })) events.push(...parser.push(id));
        if (random.next() < 0.05) events.push(...parser.push(random.integer(-1, tokenizer.vocabSize + 1)));
        if (parser.isEnded) break;
      }
      events.push(...parser.finish());
      const all = events.map((event) => (event.type === 'tool-call' ? event.raw : event.text)).join('');
      if (hasWord) expect(all).toContain('word');
      for (const event of events) if (event.type !== 'tool-call') expect(event.text).not.toBe('');
    }
  });

  it('gives up on an endless call', () => {
    const parser = new ResponseParser(tokenizer);
    parser.push(tokenizer.idOf('<|tool_call>')!);
    const a = tokenizer.idOf('a')!;
    let length = 0;
    for (let count = 0; count < 1_100_000; count++) {
      for (const event of parser.push(a)) if (event.type === 'text') length += event.text.length;
    }
    expect(length).toBe(1_100_000);
  });
});
