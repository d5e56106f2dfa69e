import { InvalidArgumentError } from '@markbase/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Device, openDevice, openPlanDevice, type Program, type StepInput } from '../src/index.js';
import {
  callNative,
  type NativeDevice,
  type NativeProgram,
  type NativeStep,
  nativeAddon,
} from '../src/native.js';

// Arrays that are not what they say, or that change while a step is read. None of them may make the addon read or write elsewhere:
// `node tools/sanitize.mjs` runs these tests under AddressSanitizer.

const VOCABULARY = 50;
const WIDTH = 4;
const HUGE = 2 ** 28;

let device: Device;
let program: Program;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 });
  program = device.record({ label: 'hostile', maxRows: 4, maxOutputs: 4, precision: 'high' }, (ops) => {
    const x = ops.input('x', 'T', { axis: 'D', size: WIDTH });
    ops.output('y', ops.add(x, x));
    ops.sample(ops.input('logits', 'N', { axis: 'V', size: VOCABULARY }));
  });
});
afterAll(() => {
  program.dispose();
  device.dispose();
});

const logits = () => Float32Array.from({ length: VOCABULARY }, (_, id) => (id === 7 ? 1 : 0));

function step(changes: Partial<StepInput> = {}): StepInput {
  return {
    tokens: new Int32Array(1),
    positions: new Int32Array(1),
    slots: new Int32Array(1),
    outputRows: Int32Array.of(0),
    inputs: { x: Float32Array.of(1, 2, 3, 4), logits: logits() },
    ...changes,
  };
}

async function resultOf(changes: Partial<StepInput>): Promise<{ token: number; y: number[] }> {
  const { tokens, outputs } = await program.run(step(changes), { read: ['y'] });
  return { token: tokens[0]!, y: [...outputs.y!] };
}

const EXPECTED = { token: 7, y: [2, 4, 6, 8] };

/** An array whose properties say something else than its memory. */
function lying<Kind extends Int32Array | Float32Array | Uint8Array>(array: Kind, length: number): Kind {
  class Lying extends (array.constructor as unknown as new (from: Kind) => object) {
    get length(): number {
      return length;
    }
    get byteLength(): number {
      return 4 * length;
    }
    get byteOffset(): number {
      return 4096;
    }
    get buffer(): ArrayBuffer {
      return new ArrayBuffer(0);
    }
    every(): boolean {
      return true;
    }
    *[Symbol.iterator](): Generator<number> {
      yield 0;
    }
  }
  return new Lying(array) as unknown as Kind;
}

/** Memory that can be resized; Node 20 has it, its types do not. */
function resizable(bytes: number, most: number): ArrayBuffer & { resize(bytes: number): void } {
  const options = { maxByteLength: most };
  return new (ArrayBuffer as unknown as new (size: number, options: object) => ReturnType<typeof resizable>)(
    bytes,
    options,
  );
}

const ROWS = [
  'tokens',
  'positions',
  'slots',
  'layerTokens',
  'visibleEnd',
  'softIndex',
  'outputRows',
] as const;

describe('arrays that lie about themselves', () => {
  it.each(ROWS)('are what their memory is: %s', async (name) => {
    const honest = Int32Array.of(name === 'softIndex' ? -1 : 0);
    expect(await resultOf({ [name]: lying(honest, HUGE) })).toEqual(EXPECTED);
    const tooLong = lying(new Int32Array(5), 1);
    await expect(resultOf({ [name]: tooLong })).rejects.toThrow(InvalidArgumentError);
    const outside = lying(Int32Array.of(HUGE), 1);
    // Positions and slots of this program, which has no cache, are not limited; nothing reads them.
    if (name === 'outputRows' || name === 'softIndex') {
      await expect(resultOf({ [name]: outside })).rejects.toThrow(InvalidArgumentError);
    }
  });

  it('are what their memory is, as inputs', async () => {
    const x = Float32Array.of(1, 2, 3, 4);
    expect(await resultOf({ inputs: { x: lying(x, HUGE), logits: lying(logits(), HUGE) } })).toEqual(
      EXPECTED,
    );
    const short = { x: lying(new Float32Array(1), WIDTH), logits: logits() };
    await expect(resultOf({ inputs: short })).rejects.toThrow('inputs.x: expected 4 numbers');
    const values = Float32Array.from({ length: 256 }, (_, byte) => byte);
    const bytes = Uint8Array.of(1, 2, 3, 4);
    const given = { bytes: lying(bytes, HUGE), values: lying(values, HUGE) };
    expect(await resultOf({ inputs: { x: given, logits: logits() } })).toEqual(EXPECTED);
    const few = { bytes, values: lying(new Float32Array(2), 256) };
    await expect(resultOf({ inputs: { x: few, logits: logits() } })).rejects.toThrow('256 numbers');
  });

  it('are what their memory is, as masks', async () => {
    const allowed = lying(Int32Array.of(1 << 3, 0), HUGE);
    expect((await resultOf({ sampling: [{ allowed }] })).token).toBe(3);
    const short = lying(Int32Array.of(1 << 3), 2);
    await expect(resultOf({ sampling: [{ allowed: short }] })).rejects.toThrow('allowed');
  });

  it('are what their memory is, as bytes to upload', () => {
    using buffer = device.upload(lying(Uint8Array.of(1, 2, 3), HUGE), 'lying');
    expect(buffer.sizeBytes).toBe(3);
    expect(() => device.upload(new Float32Array(1) as never, 'floats')).toThrow(InvalidArgumentError);
  });
});

describe('arrays without numbers, which may have no memory', () => {
  it('are taken for no output rows and for no bytes', async () => {
    const inputs = { x: Float32Array.of(1, 2, 3, 4), logits: new Float32Array(0) };
    const { tokens, topLogprobs } = await program.run(step({ outputRows: new Int32Array(0), inputs }));
    expect([tokens.length, topLogprobs]).toEqual([0, []]);
    using buffer = device.upload(new Uint8Array(0), 'empty');
    expect(buffer.sizeBytes).toBe(0);
  });
});

describe('arguments of a device', () => {
  it.each<[string, () => unknown]>([
    ['range.path', () => device.map({ path: 7, offsetBytes: 0, sizeBytes: 1 } as never)],
    ['range.path', () => device.map(undefined as never)],
    ['range.offsetBytes', () => device.map({ path: 'a', offsetBytes: -1, sizeBytes: 1 })],
    ['range.offsetBytes', () => device.map({ path: 'a', offsetBytes: Number.NaN, sizeBytes: 1 })],
    ['range.sizeBytes', () => device.map({ path: 'a', offsetBytes: 0, sizeBytes: 0.5 })],
    ['bytes', () => device.upload([1] as never, 'it')],
    ['bytes', () => device.upload(new ArrayBuffer(4) as never, 'it')],
    ['label', () => device.upload(new Uint8Array(1), 7 as never)],
    ['sizeBytes', () => device.allocate(2 ** 60, 'it')],
    ['sizeBytes', () => device.allocate('4' as never, 'it')],
    ['label', () => device.allocate(1, undefined as never)],
    ['sizeBytes', () => device.requireMemory(-1, 'it')],
  ])('%s is checked before the addon is called', (argument, call) => {
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }));
  });

  it('kinds of plans are checked too', async () => {
    await expect(openPlanDevice('cpu' as never)).rejects.toMatchObject({ argument: 'kind' });
  });
});

describe('memory that goes away', () => {
  it.each(ROWS)('is empty once it is detached: %s', async (name) => {
    const array = new Int32Array(1);
    structuredClone(array.buffer, { transfer: [array.buffer] });
    // Without output rows, the logits of one are too many.
    await expect(resultOf({ [name]: array })).rejects.toThrow(InvalidArgumentError);
  });

  it('is refused once it is detached, as an input', async () => {
    const x = new Float32Array(WIDTH);
    structuredClone(x.buffer, { transfer: [x.buffer] });
    await expect(resultOf({ inputs: { x, logits: logits() } })).rejects.toThrow(
      'inputs.x: expected 4 numbers',
    );
  });

  it('is as long as it is when the step is read', async () => {
    const memory = resizable(16, 4096);
    const x = new Float32Array(memory);
    x.set([1, 2, 3, 4]);
    expect(await resultOf({ inputs: { x, logits: logits() } })).toEqual(EXPECTED);
    memory.resize(8);
    await expect(resultOf({ inputs: { x, logits: logits() } })).rejects.toThrow('received "2 numbers"');
    const fixed = new Float32Array(memory, 0, 2);
    memory.resize(4);
    await expect(resultOf({ inputs: { x: fixed, logits: logits() } })).rejects.toThrow(
      'received "0 numbers"',
    );
  });

  it.each([
    ['numbers', 16, (memory: ArrayBuffer) => new Float32Array(memory)],
    [
      'the values of bytes',
      1024,
      (memory: ArrayBuffer) => ({ bytes: new Uint8Array(WIDTH).fill(255), values: new Float32Array(memory) }),
    ],
  ] as const)('may shrink while the step is read: %s', async (_, size, input) => {
    const memory = resizable(size, 4096);
    // The iterator of the bias runs after the inputs were checked.
    class Shrinking extends Map<number, number> {
      override *[Symbol.iterator](): MapIterator<[number, number]> {
        memory.resize(0);
        yield [1, 1];
      }
    }
    const sampling = [{ logitBias: new Shrinking([[1, 1]]) }];
    const inputs = { x: input(memory), logits: logits() };
    await expect(resultOf({ sampling, inputs })).rejects.toThrow(/^inputs\.x: /);
  });
});

describe('what changes while the step is read', () => {
  it('rows are read before anything of the caller runs', async () => {
    const outputRows = Int32Array.of(0);
    const sampling = [
      {
        get logitBias(): Map<number, number> {
          outputRows[0] = HUGE;
          return new Map();
        },
      },
    ];
    expect(await resultOf({ outputRows, sampling })).toEqual(EXPECTED);
    expect(outputRows[0]).toBe(HUGE);
  });

  it('shared memory is copied', async () => {
    const shared = new Int32Array(new SharedArrayBuffer(4));
    for (const name of ROWS) {
      if (name === 'softIndex') shared[0] = -1;
      expect(await resultOf({ [name]: shared })).toEqual(EXPECTED);
      shared[0] = 0;
    }
    const x = new Float32Array(new SharedArrayBuffer(16));
    x.set([1, 2, 3, 4]);
    expect(await resultOf({ inputs: { x, logits: logits() } })).toEqual(EXPECTED);
  });

  it('parameters are read once', async () => {
    let reads = 0;
    const params = {
      get topLogprobs(): number {
        reads += 1;
        return reads === 1 ? 2 : HUGE;
      },
    };
    const { topLogprobs } = await program.run(step({ sampling: [params] }));
    expect(topLogprobs[0]!.slice(0, 1)).toEqual([{ token: 7, logprob: expect.any(Number) }]);
    class Misleading extends Array<object> {
      override map<Value>(): Value[] {
        const ranges = { map: () => [[0, HUGE]] };
        return ranges as unknown as Value[];
      }
    }
    expect(await resultOf({ sampling: Misleading.of({}) })).toEqual(EXPECTED);
  });
});

describe('the native border', () => {
  let native: NativeDevice;
  let raw: NativeProgram;
  beforeAll(() => {
    native = nativeAddon().openDevice({ kind: 'cpu', threads: 1, isa: '' });
    raw = native.createProgram({
      ...{
        label: 'raw',
        maxRows: 2,
        maxOutputs: 1,
        arenaBytes: 256,
        checkFinite: false,
        measuresTime: false,
      },
      ...{ commands: [], merges: [], sampler: null },
      inputs: [{ name: 'x', arenaOffset: 0, rowSet: 0, maxRows: 2, width: 4, stride: 4 }],
      outputs: [{ name: 'x', arenaOffset: 0, rowSet: 0, maxRows: 2, width: 4, stride: 4 }],
    });
  });
  afterAll(() => native.dispose());

  const nativeStep = (changes: Partial<NativeStep> = {}): NativeStep => ({
    ...{ tokens: new Int32Array(2), layerTokens: new Int32Array(2), softIndex: new Int32Array(2) },
    ...{ positions: new Int32Array(2), slots: new Int32Array(2), visibleEnd: new Int32Array(2) },
    ...{ outputRows: Int32Array.of(1), sampling: new Float64Array(16), historyTokens: new Int32Array(0) },
    ...{ historyCounts: new Int32Array(0), biasTokens: new Int32Array(0), biasValues: new Float32Array(0) },
    ...{ tables: new Int32Array(0), allowedWords: new Int32Array(1), cancelFlag: new Int32Array(1) },
    sampled: new Int32Array(0),
    ...{ logprobs: new Float32Array(0), topTokens: new Int32Array(0), topLogprobs: new Float32Array(0) },
    inputs: [{ port: 0, data: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8) }],
    outputs: [{ port: 0, data: new Float32Array(8) }],
    ...changes,
  });
  const run = (changes: object) => callNative(() => raw.run(nativeStep(changes as Partial<NativeStep>)));
  /** Parameters of one output row, with one field changed. */
  const sampling = (field: number, value: number) => {
    const params = new Float64Array(16);
    params[field] = value;
    return params;
  };

  it('copies what fits', async () => {
    const outputs = [{ port: 0, data: new Float32Array(8) }];
    await run({ outputs });
    expect([...outputs[0]!.data]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it.each<[string, object]>([
    ['tokens', { tokens: new Int32Array(3) }],
    ['tokens', { tokens: new Int32Array(0) }],
    ['tokens', { tokens: new Float64Array(2) }],
    ['tokens', { tokens: [0, 0] }],
    ['tokens', { tokens: undefined }],
    ['positions', { positions: new Int32Array(1) }],
    ['slots', { slots: new Int32Array(3) }],
    ['visibleEnd', { visibleEnd: new Uint8Array(2) }],
    ['layerTokens', { layerTokens: new Int32Array(1) }],
    ['softIndex', { softIndex: new Int32Array(1) }],
    ['outputRows', { outputRows: Int32Array.of(2) }],
    ['outputRows', { outputRows: Int32Array.of(-1) }],
    ['outputRows', { outputRows: Int32Array.of(0, 1) }],
    ['sampling', { sampling: new Float64Array(15) }],
    ['sampling', { sampling: new Float32Array(16) }],
    ['sampling', { sampling: sampling(10, 21) }],
    ['sampling', { sampling: sampling(12, 1) }],
    ['sampling', { sampling: sampling(14, 1) }],
    ['sampling', { sampling: sampling(15, 1) }],
    ['historyCounts', { historyTokens: new Int32Array(1) }],
    ['biasValues', { biasTokens: new Int32Array(1) }],
    ['inputs', { inputs: [{ port: 1, data: new Float32Array(8) }] }],
    ['inputs.x', { inputs: [{ port: 0, data: new Float32Array(9) }] }],
    ['inputs.x', { inputs: [{ port: 0, data: new Float32Array(7) }] }],
    ['inputs.x', { inputs: [{ port: 0, data: new Float64Array(8) }] }],
    ['inputs.x', { inputs: [{ port: 0, data: new Uint8Array(8), values: new Float32Array(255) }] }],
    ['inputs.x', { inputs: [{ port: 0, data: new Uint8Array(9), values: new Float32Array(256) }] }],
    ['outputs', { outputs: [{ port: 7, data: new Float32Array(8) }] }],
    ['outputs.x', { outputs: [{ port: 0, data: new Float32Array(7) }] }],
    ['sampled', { sampled: new Int32Array(1) }],
    ['topLogprobs', { topLogprobs: new Float64Array(0) }],
    ['cancelFlag', { cancelFlag: new Int32Array(0) }],
  ])('refuses %s: %j', (argument, changes) => {
    expect(() => run(changes)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }));
  });

  it('refuses objects of other classes, and disposed ones', () => {
    const buffer = native.allocate(64, 'it');
    const other = nativeAddon().openDevice({ kind: 'cpu', threads: 1, isa: '' });
    const describe = (operand: unknown) => ({
      ...{
        label: 'wrong',
        maxRows: 1,
        maxOutputs: 0,
        arenaBytes: 64,
        checkFinite: false,
        measuresTime: false,
      },
      ...{ merges: [], inputs: [], outputs: [], sampler: null },
      commands: [
        {
          family: 'rope',
          label: 'it',
          attributes: {},
          operands: [{ buffer: operand as never, isOutput: false }],
        },
      ],
    });
    for (const operand of [other, raw, {}, null, 7, Object.create(buffer)]) {
      expect(() => callNative(() => native.createProgram(describe(operand)))).toThrow(
        'a buffer of this addon',
      );
    }
    buffer.dispose();
    expect(() => callNative(() => native.createProgram(describe(buffer)))).toThrow('not disposed');
    other.dispose();
    expect(() => callNative(() => other.info)).toThrow('device: expected one that was not disposed');
    expect(() => callNative(() => other.allocate(1, 'it'))).toThrow('one that was not disposed');
    const done = native.createProgram({ ...describe(null), commands: [] });
    done.dispose();
    expect(() => callNative(() => done.plan)).toThrow('program: expected one that was not disposed');
    expect(() => callNative(() => done.run(nativeStep()))).toThrow('one that was not disposed');
    expect(() => callNative(() => native.createProgram(7 as never))).toThrow(
      'description: expected an object',
    );
    expect(() => callNative(() => nativeAddon().openDevice(null as never))).toThrow(
      'options: expected an object',
    );
  });
});
