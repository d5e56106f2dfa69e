import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { parseExactJson } from './exact-json.js';
import { formatToolCall, parseToolCall } from './tool-call-syntax.js';

const q = '<|"|>';

describe('parseToolCall', () => {
  it.each([
    [`call:get_weather{city:${q}Paris${q},days:2}`, 'get_weather', { city: 'Paris', days: 2 }],
    ['call:now{}', 'now', {}],
    ['now{}', 'now', {}],
    ['call: ns.tool-1:a { x : 1 , y : [ ] } ', 'ns.tool-1:a', { x: 1, y: [] }],
    [
      `call:f{a:{b:[1,-2.5e3,{c:${q}d${q}}],e:null},f:true,g:false}`,
      'f',
      { a: { b: [1, -2500, { c: 'd' }], e: null }, f: true, g: false },
    ],
    [`call:f{text:${q}a, {b}: [c] "d" \n'${q}}`, 'f', { text: 'a, {b}: [c] "d" \n\'' }],
    [`call:f{${q}a key${q}:${q}${q}}`, 'f', { 'a key': '' }],
    ['call:f{a:None,b:True}', 'f', { a: null, b: true }],
    [`call:f{a:${q}1${q},b:007}`, 'f', { a: '1', b: '007' }],
  ])('reads %j', (text, name, value) => {
    expect(parseToolCall(text)).toMatchObject({ name, arguments: value });
  });

  it.each([
    ['a missing first quote', `call:f{query:weather in Tokyo${q}}`, { query: 'weather in Tokyo' }],
    [
      'a missing first quote before a comma',
      `call:f{query:Tokyo, Japan${q},n:1}`,
      { query: 'Tokyo, Japan', n: 1 },
    ],
    ['a missing last quote', `call:f{query:${q}weather in Tokyo}`, { query: 'weather in Tokyo' }],
    ['both quotes missing', `call:f{unit:celsius,city:${q}Rome${q}}`, { unit: 'celsius', city: 'Rome' }],
    ['lost brackets', `call:f{a:[1,{b:${q}x${q}`, { a: [1, { b: 'x' }] }],
    ['too many brackets', 'call:f{a:1}}', { a: 1 }],
    ['JSON strings', 'call:f{"a":"b\\"c}","d":"\\q"}', { a: 'b"c}', d: '\\q' }],
    ['a trailing comma', 'call:f{a:1,}', { a: 1 }],
  ])('repairs %s', (_, text, value) => {
    expect(parseToolCall(text)?.arguments).toEqual(value);
  });

  it('says whether it had to repair the call', () => {
    expect(parseToolCall(`call:f{a:${q}b${q}}`)?.isRepaired).toBe(false);
    expect(parseToolCall('call:f{a:b}')?.isRepaired).toBe(true);
    expect(parseToolCall('call:f{a:1')?.isRepaired).toBe(true);
  });

  it.each([
    '',
    'call:',
    'call:f',
    '{a:1}',
    'call:f{a}',
    'call:f{a:}',
    'call:f{:1}',
    'call:f{a:1}b',
    'call:f{a:1 b:{}',
    `call:f${'{a:'.repeat(100)}`,
    'call:f{"a:1}',
  ])('gives up on %j', (text) => {
    expect(parseToolCall(text)).toBeNull();
  });

  it.each([
    ['a string of another language', "call:f{a:'x, b: y'}"],
    ['a string in backticks', 'call:f{a:`x`}'],
    ['a name of another language', "call:f{'a':1}"],
    ['a comma that may be part of a string', 'call:f{a:x, b:y}'],
    ['a string that may end before a comma', 'call:f{a:x y,b:z}'],
    ['a string that may have swallowed a member', `call:f{a:${q}x,b:1}`],
    ['two values for one name', 'call:f{a:1,a:2}'],
  ])('does not read %s as a call', (_, text) => {
    expect(parseToolCall(text)).toBeNull();
  });

  it.each(['xsi:type', 'a,b', 'a{b', '[0]', '', 'a b', '"', "'", '\u0000', '🏿', '__proto__', 'a:'])(
    'reads the name %j, quoted',
    (name) => {
      const values = Object.fromEntries([[name, 1]]);
      expect(parseToolCall(formatToolCall('f', values))?.arguments).toEqual(values);
      expect(parseToolCall(`call:f{${q}${name}${q}:1}`)?.arguments).toEqual(values);
    },
  );

  it('reads a name with colons before a string, as templates write it', () => {
    expect(parseToolCall(`call:f{xsi:type:${q}a:b${q},b:{c:d:${q}${q}}}`)?.arguments).toEqual({
      'xsi:type': 'a:b',
      b: { 'c:d': '' },
    });
  });

  it('keeps the digits of numbers', () => {
    const numbers = '[12345678901234567890,-9007199254740993,1e400,1.0,-0.0,1e-7,2.50,3]';
    const call = parseToolCall(`call:f{n:${numbers}}`)!;
    expect(call.argumentsJson).toBe(`{"n":${numbers}}`);
    expect(call.arguments).toEqual(JSON.parse(`{"n":${numbers}}`));
    expect(formatToolCall('f', parseExactJson(call.argumentsJson) as object as Record<string, unknown>)).toBe(
      `call:f{n:${numbers}}`,
    );
  });

  it('treats keys of any name as data', () => {
    const value = parseToolCall('call:f{__proto__:{x:1},constructor:2}')!.arguments;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('needs linear time for hostile text', () => {
    const size = 200_000;
    for (const unit of ['1,', 'a,', 'a:', '[', '{a:', ' ', `${q},`, `a${q}`, '"', '}', '} x', ':', 'a b']) {
      parseToolCall(`call:f{a:[${unit.repeat(size)}`);
      parseToolCall(`call:f{a:${unit.repeat(size)}${q}}`);
      parseToolCall(`call:f{a:${q}${unit.repeat(size)}`);
      parseToolCall(unit.repeat(size));
    }
  });

  it('never throws on garbage', () => {
    const random = new SeededRandom(39);
    const parts = [
      q,
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      'call:',
      'f',
      ' ',
      '1',
      '-',
      'true',
      'null',
      'é',
      '\n',
    ];
    for (let round = 0; round < 20_000; round++) {
      let text = random.next() < 0.7 ? 'call:f{' : '';
      for (let left = random.integer(0, 20); left > 0; left--) text += random.pick(parts);
      const call = parseToolCall(text);
      if (call !== null) expect(typeof call.arguments).toBe('object');
    }
  });
});

describe('formatToolCall', () => {
  it('refuses a string that would end too early', () => {
    expect(() => formatToolCall('f', { a: `x${q}y` })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument: 'arguments' }),
    );
  });

  it('sorts keys without regard to case, at every level', () => {
    const value = { b: { Z: 1, a: [true, null] }, A: 'x', c: undefined };
    expect(formatToolCall('f', value)).toBe(`call:f{A:${q}x${q},b:{a:[true,null],Z:1}}`);
  });

  it('can be parsed back unchanged', () => {
    const random = new SeededRandom(8);
    const value = (depth: number): unknown => {
      const kind = random.integer(0, depth > 3 ? 4 : 6);
      if (kind === 0) return random.pick([true, false, null]);
      if (kind === 1) return random.integer(-1000, 1000) / random.pick([1, 8]);
      if (kind <= 4) return random.pick(['', 'a, b', '{x:[1]}', '"', '12', 'true', ' é😀\n', ':', '<|"']);
      const items = Array.from({ length: random.integer(0, 4) }, () => value(depth + 1));
      return kind === 5 ? items : Object.fromEntries(items.map((item, index) => [`key${index}`, item]));
    };
    for (let round = 0; round < 2000; round++) {
      const callArguments = { first: value(0), second: value(0) };
      const call = parseToolCall(formatToolCall('tool', callArguments));
      expect(call).toEqual({
        name: 'tool',
        arguments: callArguments,
        argumentsJson: expect.any(String),
        isRepaired: false,
      });
      expect(JSON.parse(call!.argumentsJson)).toEqual(callArguments);
    }
  });
});
