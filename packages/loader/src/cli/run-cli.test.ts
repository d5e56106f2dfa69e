import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startHub } from '../../../../fixtures/hub-server.js';
import { fixture } from '../../../../fixtures/locate.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { writeTensors } from '../../test/raw-safetensors.js';
import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { formatBytes, parseBytes, printable } from './output.js';
import { runCli } from './run-cli.js';

const root = temporaryFolder();
const SOURCE = fixture('31b-hf');
const QUANTISED = fixture('e2b-mlx-4bit');

async function run(...args: string[]) {
  const printed = { out: '', err: '' };
  const output = {
    out(text: string) {
      printed.out += text;
    },
    err(text: string) {
      printed.err += text;
    },
    isTerminal: false,
  };
  const code = await runCli(args, output, '1.2.3');
  return { code, ...printed };
}

describe('markbase-loader', () => {
  it('prints its help and its version', async () => {
    const help = await run('--help');
    expect(help).toEqual(await run());
    expect(await run('inspect', '--help')).toEqual(help);
    for (const command of ['inspect', 'validate', 'diff', 'convert', 'shard', 'download']) {
      expect(help.out).toContain(`markbase-loader ${command}`);
    }
    expect(await run('--version')).toEqual({ code: 0, out: '1.2.3\n', err: '' });
  });

  it.each([
    [['nothing'], 'command'],
    [['constructor'], 'command'],
    [['inspect'], 'inspect'],
    [['diff', 'a'], 'diff'],
    [['inspect', '--nope', 'a'], 'options'],
    [['inspect', 'a', '--memory', '16 apples'], 'memory'],
    [['inspect', 'a', '--context', 'x'], 'context'],
    [['inspect', 'a', '--precision', 'x'], 'precision'],
    [['convert', 'a', 'b', '--rule', 'x'], '--rule'],
    [['inspect', join(root, 'missing')], 'the folder does not exist'],
  ])('refuses %j', async (args, part) => {
    const { code, err, out } = await run(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(part);
    expect(err.split('\n')).toHaveLength(2);
  });
});

describe('inspect', () => {
  it('describes a folder as text and as JSON', async () => {
    const text = await run('inspect', QUANTISED, '--context', '100', '--memory', '1 MB', '--tensors');
    expect(text.code).toBe(0);
    for (const part of [
      'e2b (another size)',
      'affine, 4 bits',
      'does not fit',
      'of layer 4',
      'language_model.norm.weight',
    ]) {
      expect(text.out).toContain(part);
    }
    const json = JSON.parse((await run('inspect', QUANTISED, '--json')).out);
    expect(json).toMatchObject({
      directory: QUANTISED,
      variant: 'e2b',
      isReleasedSize: false,
      quantization: { mode: 'affine', bits: 4, groupSize: 64 },
      towers: { vision: true, audio: true },
      memory: { fit: null },
    });
    expect(json.tensors).toBeUndefined();
    const listed = JSON.parse((await run('inspect', QUANTISED, '--json', '--tensors')).out);
    expect(listed.tensors.length).toBe((await openCheckpoint(QUANTISED)).weights.names().length);
  });

  it('describes one file', async () => {
    const path = join(root, 'one.safetensors');
    await writeTensors(path, { 'a\u001b[31m': [2, 3], b: [] });
    const text = await run('inspect', path, '--tensors');
    expect(text.out).toContain('2 tensors, 28 B');
    expect(text.out).toContain('a\\u001b[31m');
    expect(JSON.parse((await run('inspect', path, '--json')).out)).toMatchObject({
      bytesByDtype: { F32: 28 },
    });
  });

  it('describes a repository from its headers alone', async () => {
    const file = (name: string) => readFile(join(QUANTISED, name));
    const hub = await startHub({
      'config.json': await file('config.json'),
      'model.safetensors': await file('model.safetensors'),
    });
    process.env.HF_ENDPOINT = hub.endpoint;
    try {
      const json = JSON.parse((await run('inspect', 'org/name', '--json')).out);
      expect(json).toMatchObject({ repository: 'org/name', variant: 'e2b' });
      const cacheDir = join(root, 'cache');
      const downloaded = await run('download', 'org/name', '--cache-dir', cacheDir);
      expect((await run('diff', downloaded.out.trim(), QUANTISED)).code).toBe(0);
      expect((await run('download', 'org/name', '--cache-dir', join(root, 'none'), '--offline')).code).toBe(
        2,
      );
    } finally {
      delete process.env.HF_ENDPOINT;
    }
  });
});

describe('validate', () => {
  it('accepts a valid checkpoint, with warnings', async () => {
    const report = JSON.parse((await run('validate', QUANTISED, '--json', '--values')).out);
    expect(report).toMatchObject({ isValid: true, readTensorCount: expect.any(Number) });
    expect(report.findings.map(({ code }: { code: string }) => code)).toEqual(['LOW_BITS', 'NO_TOKENIZER']);
    expect(report.readTensorCount).toBeGreaterThan(100);
    expect((await run('validate', SOURCE)).code).toBe(0);
  });

  it('lists everything that is wrong', async () => {
    const folder = join(root, 'broken');
    await mkdir(folder);
    await cp(join(SOURCE, 'config.json'), join(folder, 'config.json'));
    await writeTensors(join(folder, 'model.safetensors'), {
      'model.language_model.norm.weight': [63],
      'model.language_model.embed_tokens.weight': [384, 64],
      'model.language_model.surplus': [1],
    });
    const { code, out } = await run('validate', folder);
    expect(code).toBe(1);
    expect(out).toContain(
      'error WEIGHT_MAP: the checkpoint does not match its config.json: wrong: language_model.norm.weight',
    );
    expect(out).toContain('missing: language_model.layers.0.self_attn.q_proj.weight');
    expect(out).toContain('warning UNUSED: language_model.surplus');
    expect(out).not.toContain('embed_tokens');
  });

  it('finds NaN and infinity', async () => {
    const folder = join(root, 'nan');
    await cp(SOURCE, folder, { recursive: true });
    const path = join(folder, 'model.safetensors');
    const bytes = await readFile(path);
    // The last element of a bfloat16 file becomes NaN.
    bytes.writeUInt16LE(0x7fc0, bytes.length - 2);
    await writeFile(path, bytes);
    expect((await run('validate', folder)).code).toBe(0);
    const { code, out } = await run('validate', folder, '--values');
    expect(code).toBe(1);
    expect(out).toContain('1 of ');
    expect(out).toContain('NON_FINITE');
  });

  it('reports a folder that cannot be opened', async () => {
    const folder = join(root, 'no-weights');
    await mkdir(folder);
    await cp(join(SOURCE, 'config.json'), join(folder, 'config.json'));
    const { code, out } = await run('validate', folder);
    expect([code, out]).toEqual([1, expect.stringContaining('error FILE_ACCESS')]);
  });
});

describe('convert, shard and diff', () => {
  it("work on each other's output", async () => {
    const [made, sharded] = [join(root, 'made'), join(root, 'sharded')];
    const converted = await run(
      'convert',
      SOURCE,
      made,
      '--bits',
      '8',
      '--rule',
      '**.layers.0.mlp.*=4/32',
      '--rule',
      '**.layers.1.**=skip',
    );
    expect(converted).toMatchObject({ code: 0, err: '' });
    const { weights } = await openCheckpoint(made);
    expect(weights.stored('language_model.layers.0.mlp.up_proj')).toMatchObject({ bits: 4, groupSize: 32 });
    expect(weights.stored('language_model.layers.1.mlp.up_proj')).toMatchObject({ kind: 'plain' });
    expect(weights.stored('language_model.layers.2.mlp.up_proj')).toMatchObject({ bits: 8, groupSize: 64 });

    expect((await run('shard', made, sharded, '--max-shard-size', '200kB')).code).toBe(0);
    const files = (await readdir(sharded)).filter((name) => name.endsWith('.safetensors'));
    expect(files.length).toBeGreaterThan(3);
    expect(await run('diff', made, sharded)).toMatchObject({
      code: 0,
      out: expect.stringContaining('equal: '),
    });
    expect((await run('shard', sharded, sharded)).code).toBe(2);

    const diff = await run('diff', made, SOURCE);
    expect(diff.code).toBe(1);
    expect(diff.out).toContain('differs in config.json: quantization');
    expect(diff.out).toContain('only in the first: language_model.embed_tokens.scales');
    expect(diff.out).toMatch(/embed_tokens\.weight +dtype +U32 \/ BF16/);
  });

  it('compare single values', async () => {
    const [left, right] = [join(root, 'left.safetensors'), join(root, 'right.safetensors')];
    await writeTensors(left, { a: [4], b: [2] });
    await writeTensors(right, { a: [4], b: [2] });
    const bytes = await readFile(right);
    bytes.writeFloatLE(3.5, bytes.length - 4);
    await writeFile(right, bytes);
    const { different, equalCount } = JSON.parse((await run('diff', left, right, '--json')).out);
    expect(different).toEqual([
      {
        name: 'b',
        kind: 'values',
        left: expect.any(String),
        right: expect.any(String),
        maxAbsDifference: 1.5,
      },
    ]);
    expect(equalCount).toBe(1);
    expect((await run('diff', left, right, '--headers')).code).toBe(0);
  });
});

describe('output', () => {
  it.each([
    ['4096', 4096],
    ['1kB', 1000],
    ['1 KiB', 1024],
    ['1.5GB', 1.5e9],
    ['2G', 2e9],
    ['2 TiB', 2 * 1024 ** 4],
    ['-1', null],
    ['x', null],
    ['1 XB', null],
  ])('parses %s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [999_960, '1.00 MB'],
    [2_612_000_000, '2.61 GB'],
    [-1500, '-1.50 kB'],
  ])('shows %i bytes', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it('makes control characters visible', () => {
    expect(printable('a\u001b[2J\u202eb\u0000')).toBe('a\\u001b[2J\\u202eb\\u0000');
  });
});
