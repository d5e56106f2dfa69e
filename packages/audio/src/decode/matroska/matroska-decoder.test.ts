import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeAll, inPieces } from '../../../test/collect.js';
import { soundFile } from '../../../test/sound-files.js';
import { OggPages } from '../ogg/ogg-pages.js';

const context = {
  source: 'test',
  acceptTruncated: false,
  maxSeconds: Infinity,
  tail: async () => null,
  breathe: async () => {},
};
const HEADERS = { opus: 2, ogg: 3 };

/** The packets of a fixture, headers included; no packet of it spans pages. */
function packetsOf(name: string): Buffer[] {
  const pages = [...new OggPages(context).push(readFileSync(soundFile(name)))];
  const packets: Buffer[] = [];
  let open: Uint8Array[] = [];
  for (const { parts, endsPacket } of pages) {
    for (const [index, part] of parts.entries()) {
      open.push(part);
      if (index === parts.length - 1 && !endsPacket) continue;
      packets.push(Buffer.concat(open));
      open = [];
    }
  }
  return packets;
}

/** An element; `size`: what it states, null for unknown. */
function element(id: number[], content: Uint8Array, size: number | null = content.length): Buffer {
  const head = Buffer.alloc(8, 0xff);
  head[0] = 0x01;
  if (size !== null) head.writeUIntBE(size, 2, 6);
  if (size !== null) head[1] = 0;
  return Buffer.concat([Buffer.from(id), head, content]);
}

const number = (value: number, bytes = 1) => {
  const made = Buffer.alloc(bytes);
  made.writeIntBE(value, 0, bytes);
  return made;
};
const SIMPLE_BLOCK = [0xa3];
const blockHead = (track: number, lacing = 0) => Buffer.of(0x80 | track, 0, 0, lacing << 1);

/** A WebM file of the packets of a fixture. */
function webm(
  name: 'stereo.opus' | 'stereo.ogg',
  options: { blocks?: Buffer[]; size?: null; discard?: number; codec?: string } = {},
): Buffer {
  const kind = name.endsWith('opus') ? 'opus' : 'ogg';
  const packets = packetsOf(name);
  const sound = packets.slice(HEADERS[kind]);
  const lengths = packets
    .slice(0, 2)
    .flatMap(({ length }) => [...Array(Math.floor(length / 255)).fill(255), length % 255]);
  const codecPrivate =
    kind === 'opus' ? packets[0]! : Buffer.concat([Buffer.of(2, ...lengths), ...packets.slice(0, 3)]);
  const track = (at: number, type: number, codec: string, setup: Buffer) =>
    element(
      [0xae],
      Buffer.concat([
        element([0xd7], number(at)),
        element([0x83], number(type)),
        element([0x86], Buffer.from(codec)),
        element([0x63, 0xa2], setup),
      ]),
    );
  const codec = options.codec ?? (kind === 'opus' ? 'A_OPUS' : 'A_VORBIS');
  const tracks = element(
    [0x16, 0x54, 0xae, 0x6b],
    Buffer.concat([track(1, 1, 'V_VP8', Buffer.alloc(3)), track(2, 2, codec, codecPrivate)]),
  );
  const blocks =
    options.blocks ?? sound.map((packet) => element(SIMPLE_BLOCK, Buffer.concat([blockHead(2), packet])));
  const picture = element(SIMPLE_BLOCK, Buffer.concat([blockHead(1), Buffer.alloc(40, 7)]));
  const last = options.discard === undefined ? [] : [element([0x75, 0xa2], number(options.discard, 6))];
  const cluster = element(
    [0x1f, 0x43, 0xb6, 0x75],
    Buffer.concat([element([0xe7], number(0)), picture, ...blocks, ...last]),
    options.size,
  );
  const segment = element(
    [0x18, 0x53, 0x80, 0x67],
    Buffer.concat([element([0xec], Buffer.alloc(9)), tracks, cluster]),
    options.size,
  );
  return Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], Buffer.from('\x42\x82\x84webm', 'latin1')),
    segment,
  ]);
}

/** The samples of the Ogg file without the trim at its end, which WebM states in another way. */
async function expected(name: string, length: number) {
  const { channels } = await decodeAll(soundFile(name));
  return channels.map((samples) => samples.subarray(0, length));
}

describe('WebM', () => {
  it.each(['stereo.opus', 'stereo.ogg'] as const)(
    'gives the samples of %s, in pieces of any size',
    async (name) => {
      const file = webm(name);
      const whole = await decodeAll(file);
      const ogg = (await decodeAll(soundFile(name))).channels[0]!.length;
      expect(whole.channels[0]!.length).toBeGreaterThanOrEqual(ogg);
      expect(whole.channels.map((samples) => samples.subarray(0, ogg))).toEqual(await expected(name, ogg));
      for (const source of [inPieces(file, 1), inPieces(file, 333), webm(name, { size: null })]) {
        expect(await decodeAll(source)).toEqual(whole);
      }
    },
  );

  it('leaves out what the last block says is padding', async () => {
    const [whole, cut] = [
      await decodeAll(webm('stereo.opus')),
      await decodeAll(webm('stereo.opus', { discard: 5_000_000 })),
    ];
    expect(cut.channels[0]).toEqual(whole.channels[0]!.subarray(0, -240));
  });

  it.each([
    ['Xiph', 1],
    ['EBML', 3],
  ])('reads blocks of several packets with sizes as in %s', async (_, lacing) => {
    const sound = packetsOf('stereo.opus').slice(2);
    const laced = (packets: Buffer[]): Buffer => {
      const sizes = packets.slice(0, -1).map(({ length }) => length);
      const xiph = sizes.flatMap((size) => [...Array(Math.floor(size / 255)).fill(255), size % 255]);
      const ebml = sizes.flatMap((size, index) => {
        const value = index === 0 ? 0x4000 + size : 0x4000 + size - sizes[index - 1]! + 0x1fff;
        return [value >> 8, value & 255];
      });
      const head = Buffer.of(packets.length - 1, ...(lacing === 1 ? xiph : ebml));
      return element(SIMPLE_BLOCK, Buffer.concat([blockHead(2, lacing), head, ...packets]));
    };
    const blocks = [laced(sound.slice(0, 3)), laced(sound.slice(3))];
    expect(await decodeAll(webm('stereo.opus', { blocks }))).toEqual(await decodeAll(webm('stereo.opus')));
  });

  it('is truncated if its segment states more, or an element is incomplete', async () => {
    const file = webm('stereo.opus');
    for (const part of [file.subarray(0, -1), file.subarray(0, file.length - 200)]) {
      await expect(decodeAll(part)).rejects.toMatchObject({ rule: 'TruncatedAudio' });
      expect((await decodeAll(part, { truncated: 'accept' })).channels).toHaveLength(2);
    }
    await expect(decodeAll(webm('stereo.opus', { size: null }).subarray(0, -1))).rejects.toMatchObject({
      rule: 'TruncatedAudio',
    });
  });

  it('names another codec, and refuses what is not Matroska', async () => {
    await expect(decodeAll(webm('stereo.opus', { codec: 'A_AC3' }), { ffmpeg: false })).rejects.toMatchObject(
      {
        code: 'UNSUPPORTED_MEDIA',
        reason: expect.stringMatching(/^Matroska with the codec A_AC3 is not decoded without ffmpeg/),
      },
    );
    const wrong = element(SIMPLE_BLOCK, Buffer.concat([blockHead(2, 1), Buffer.of(9, 255)]));
    await expect(decodeAll(webm('stereo.opus', { blocks: [wrong] }))).rejects.toMatchObject({
      rule: 'InvalidMatroska',
    });
    const file = webm('stereo.opus');
    file.fill(0, file.indexOf(Buffer.of(0x1f, 0x43, 0xb6, 0x75)));
    await expect(decodeAll(file)).rejects.toMatchObject({ code: 'CORRUPT_FILE' });
  });
});
