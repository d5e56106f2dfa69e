import { checkTruncated, corrupt, foreign, unsupported } from '../decode-errors.js';
import type { OggCodec } from '../ogg/ogg-codec.js';
import { OpusCodec } from '../ogg/opus-codec.js';
import { SampleTrim } from '../ogg/sample-trim.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import { VorbisCodec } from '../vorbis/vorbis-codec.js';
import { type Block, parseBlock, xiphPackets } from './block-frames.js';
import { type EbmlElement, EbmlReader } from './ebml-reader.js';

const SEGMENT = 0x1853_8067;
const TRACKS = 0x1654_ae6b;
const TRACK_ENTRY = 0xae;
const TRACK_NUMBER = 0xd7;
const TRACK_TYPE = 0x83;
const CODEC_ID = 0x86;
const CODEC_PRIVATE = 0x63a2;
const CONTENT_ENCODINGS = 0x6d80;
const CLUSTER = 0x1f43_b675;
const SIMPLE_BLOCK = 0xa3;
const BLOCK_GROUP = 0xa0;
const BLOCK = 0xa1;
const DISCARD_PADDING = 0x75a2;

const SCHEMA = {
  opened: new Set([SEGMENT, TRACKS, TRACK_ENTRY, CLUSTER, BLOCK_GROUP]),
  read: new Set([
    TRACK_NUMBER,
    TRACK_TYPE,
    CODEC_ID,
    CODEC_PRIVATE,
    CONTENT_ENCODINGS,
    SIMPLE_BLOCK,
    BLOCK,
    DISCARD_PADDING,
  ]),
  // A block of a picture in high resolution; sound has some kilobytes.
  maxBytes: 32 * 1024 * 1024,
};

const SOUND = 2;

interface Track {
  number: number;
  type: number;
  codecId: string;
  codecPrivate: Uint8Array;
  isEncoded: boolean;
}

/**
 * The first sound of a WebM or Matroska file, if it is Opus or Vorbis: what browsers record.
 *
 * A block waits until the next element, which may say how much of its end is not part of the sound.
 */
export class MatroskaDecoder implements SoundDecoder {
  readonly #context: DecodeContext;
  readonly #elements = new EbmlReader(SCHEMA);
  readonly #tracks: Track[] = [];
  #trackNumber = 0;
  #codec: OggCodec | null = null;
  #trim = new SampleTrim(0);
  #waiting: Block | null = null;

  constructor(context: DecodeContext) {
    this.#context = context;
  }

  async *push(bytes: Uint8Array): AsyncGenerator<SamplePiece> {
    for (const element of this.#elements.push(bytes)) {
      if (element.id === CLUSTER && this.#codec === null) await this.#begin();
      if (this.#codec === null) this.#readTrack(element);
      else yield* this.#readBlocks(element, this.#codec);
    }
    const { isBroken, tooLarge } = this.#elements;
    if (isBroken) corrupt(this.#context, 'InvalidMatroska', 'expected an element of a Matroska file');
    if (tooLarge !== null) corrupt(this.#context, 'InvalidMatroska', `an element ${tooLarge} is too large`);
  }

  *finish(): Generator<SamplePiece> {
    if (this.#codec === null) {
      corrupt(this.#context, 'TruncatedAudio', 'the Matroska file ends before its first block');
    }
    yield* this.#decodeWaiting(0);
    yield* this.#pieces(this.#trim.flush());
    const missing = this.#elements.missingBytes;
    if (missing > 0) checkTruncated(this.#context, `the Matroska file ends ${missing} bytes too early`);
  }

  close(): void {
    this.#codec?.close();
  }

  #readTrack({ id, content }: EbmlElement): void {
    if (id === TRACK_ENTRY) {
      this.#tracks.push({
        number: 0,
        type: 0,
        codecId: '',
        codecPrivate: new Uint8Array(0),
        isEncoded: false,
      });
    }
    const track = this.#tracks.at(-1);
    if (track === undefined || content === null) return;
    if (id === TRACK_NUMBER) track.number = unsigned(content);
    if (id === TRACK_TYPE) track.type = unsigned(content);
    if (id === CODEC_ID) track.codecId = Buffer.from(content).toString('latin1').replace(/\0+$/, '');
    if (id === CODEC_PRIVATE) track.codecPrivate = content;
    if (id === CONTENT_ENCODINGS) track.isEncoded = true;
  }

  async #begin(): Promise<void> {
    const track = this.#tracks.find(({ type }) => type === SOUND);
    if (track === undefined) return unsupported(this.#context, 'it has no sound');
    const codec = track.isEncoded ? null : this.#openCodec(track);
    if (codec === null) foreign(this.#context, `Matroska with the codec ${track.codecId}`);
    this.#trackNumber = track.number;
    await codec.prepare?.();
    this.#trim = new SampleTrim(codec.preSkip);
    this.#codec = codec;
  }

  #openCodec({ codecId, codecPrivate }: Track): OggCodec | null {
    if (codecId === 'A_OPUS') return OpusCodec.tryOpen(codecPrivate, this.#context);
    if (codecId !== 'A_VORBIS') return null;
    const [head, , setup] = xiphPackets(codecPrivate) ?? [];
    if (head === undefined || setup === undefined) return null;
    const codec = VorbisCodec.tryOpen(head, this.#context);
    codec?.readHeader(setup);
    return codec;
  }

  *#readBlocks({ id, content }: EbmlElement, codec: OggCodec): Generator<SamplePiece> {
    if (id === DISCARD_PADDING && content !== null) {
      const seconds = signed(content) / 1e9;
      return yield* this.#decodeWaiting(Math.max(0, Math.round(seconds * codec.sampleRate)));
    }
    if ((id !== BLOCK && id !== SIMPLE_BLOCK) || content === null) return;
    yield* this.#decodeWaiting(0);
    const block = parseBlock(content);
    if (block === null) corrupt(this.#context, 'InvalidMatroska', 'a block with wrong sizes');
    if (block.track === this.#trackNumber) this.#waiting = block;
  }

  /** @param discarded samples at the end of the block that are not part of the sound */
  *#decodeWaiting(discarded: number): Generator<SamplePiece> {
    const block = this.#waiting;
    this.#waiting = null;
    if (block === null) return;
    for (const [index, frame] of block.frames.entries()) {
      const channels = this.#codec!.decode(frame);
      const isLast = index === block.frames.length - 1;
      const kept = Math.max(0, (channels[0]?.length ?? 0) - (isLast ? discarded : 0));
      yield* this.#pieces(this.#trim.push(channels.map((samples) => samples.subarray(0, kept))));
    }
  }

  *#pieces(channels: readonly Float32Array[]): Generator<SamplePiece> {
    if (channels.length > 0 && channels[0]!.length > 0) {
      yield { sampleRate: this.#codec!.sampleRate, channels };
    }
  }
}

function unsigned(content: Uint8Array): number {
  return content.reduce((value, byte) => value * 256 + byte, 0);
}

function signed(content: Uint8Array): number {
  return content.length === 0
    ? 0
    : Number(BigInt.asIntN(8 * content.length, BigInt(`0x${Buffer.from(content).toString('hex')}`)));
}
