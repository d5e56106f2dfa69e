import { checkLength, checkTruncated, corrupt, foreign, unsupported } from '../decode-errors.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import type { OggCodec } from './ogg-codec.js';
import { lastGranule, type OggPage, OggPages } from './ogg-pages.js';
import { SampleTrim } from './sample-trim.js';

/** Makes the codec for the first packet of a stream, or null if the packet is not of that codec. */
export type OggCodecFactory = (firstPacket: Uint8Array, context: DecodeContext) => OggCodec | null;

/** Most streams of a chain; each may have its own tables to build. */
const MAX_STREAMS = 256;
/** Largest packet to assemble, in bytes: some seconds of uncompressed sound. Comments, which may hold pictures, are left out. */
const MAX_PACKET_BYTES = 8 * 1024 * 1024;

/**
 * Ogg with one sound stream, possibly among streams of other kinds; the first supported one is used.
 *
 * A chain of streams, as radio stations send it, plays through if rate and channels stay the same.
 */
export class OggDecoder implements SoundDecoder {
  readonly #context: DecodeContext;
  readonly #factory: OggCodecFactory;
  readonly #pages: OggPages;
  #codec: OggCodec | null = null;
  #serial: number | null = null;
  #streamCount = 0;
  #packetCount = 0;
  #unfinished: Uint8Array[] = [];
  #unfinishedBytes = 0;
  #trim = new SampleTrim(0);
  #hasEnded = false;
  #channelCount = 0;
  /** Position at the end of the stream, until it is compared with that of the first page with sound. */
  #statedEnd: number | null = null;
  /** First packets that no codec accepted, for the message. */
  readonly #foreign: string[] = [];

  constructor(factory: OggCodecFactory, context: DecodeContext) {
    this.#context = context;
    this.#factory = factory;
    this.#pages = new OggPages(context);
  }

  async *push(bytes: Uint8Array): AsyncGenerator<SamplePiece> {
    for (const page of this.#pages.push(bytes)) {
      if (page.isFirst) await this.#begin(page);
      else if (this.#codec === null) this.#refuse();
      if (page.serial === this.#serial && this.#codec !== null) yield* this.#readPage(page, this.#codec);
    }
  }

  *finish(): Generator<SamplePiece> {
    if (this.#codec === null) this.#refuse();
    if (this.#packetCount < this.#codec!.headerCount) {
      corrupt(this.#context, 'TruncatedAudio', 'the Ogg file ends in its headers');
    }
    yield* this.#pieces(this.#trim.flush());
    if (!this.#hasEnded) {
      const rest = this.#pages.waitingBytes;
      checkTruncated(
        this.#context,
        `the last page of the Ogg stream is missing${rest > 0 ? ' or incomplete' : ''}`,
      );
    }
  }

  close(): void {
    this.#codec?.close();
  }

  async #begin(page: OggPage): Promise<void> {
    // Another stream in parallel; or, after the end of ours, the next one of a chain.
    if (this.#codec !== null && !this.#hasEnded) return;
    const packet = page.parts[0] ?? new Uint8Array(0);
    const codec = this.#factory(packet, this.#context);
    if (codec === null) {
      this.#foreign.push(
        Buffer.from(packet.subarray(0, 8))
          .toString('latin1')
          .replace(/[^ -~]/g, '.'),
      );
      return;
    }
    if (this.#codec !== null && codec.sampleRate !== this.#codec.sampleRate) {
      unsupported(this.#context, 'a chain of Ogg streams with different sample rates');
    }
    this.#streamCount += 1;
    if (this.#streamCount > MAX_STREAMS) {
      unsupported(this.#context, `a chain of more than ${MAX_STREAMS} Ogg streams`);
    }
    await this.#context.breathe();
    this.#codec?.close();
    this.#codec = codec;
    await codec.prepare?.();
    this.#serial = page.serial;
    if (Number.isFinite(this.#context.maxSeconds)) {
      this.#statedEnd = lastGranule((await this.#context.tail()) ?? new Uint8Array(0), page.serial);
    }
    this.#packetCount = 0;
    this.#unfinished = [];
    this.#unfinishedBytes = 0;
    this.#hasEnded = false;
    this.#trim = new SampleTrim(codec.preSkip);
  }

  *#readPage(page: OggPage, codec: OggCodec): Generator<SamplePiece> {
    if (!page.continues) this.#drop();
    this.#checkStated(page, codec.sampleRate);
    this.#trim.beginPage(page.granule, page.isLast);
    for (const [index, part] of page.parts.entries()) {
      const isUnfinished = index === page.parts.length - 1 && !page.endsPacket;
      if (this.#packetCount < codec.headerCount && this.#packetCount !== codec.setupHeader) {
        if (!isUnfinished) this.#packetCount += 1;
        continue;
      }
      this.#unfinishedBytes += part.length;
      if (this.#unfinishedBytes > MAX_PACKET_BYTES) {
        corrupt(this.#context, 'InvalidOgg', `a packet of more than ${MAX_PACKET_BYTES} bytes`);
      }
      this.#unfinished.push(part);
      if (isUnfinished) break;
      const packet = this.#unfinished.length === 1 ? part : Buffer.concat(this.#unfinished);
      this.#drop();
      if (this.#packetCount < codec.headerCount) codec.readHeader(packet);
      else yield* this.#pieces(this.#trim.push(codec.decode(packet)));
      this.#packetCount += 1;
    }
    yield* this.#pieces(this.#trim.endPage(page.granule, page.isLast));
    this.#hasEnded ||= page.isLast;
  }

  #drop(): void {
    this.#unfinished = [];
    this.#unfinishedBytes = 0;
  }

  /** Positions of a recording that was cut from another one do not begin at 0, so the first page with sound counts. */
  #checkStated(page: OggPage, sampleRate: number): void {
    if (this.#statedEnd === null || page.granule === null || page.granule === 0) return;
    checkLength(this.#context, this.#statedEnd - page.granule, sampleRate);
    this.#statedEnd = null;
  }

  *#pieces(channels: readonly Float32Array[]): Generator<SamplePiece> {
    if (channels.length > 0 && channels[0]!.length > 0) yield this.#piece(channels);
  }

  #piece(channels: readonly Float32Array[]): SamplePiece {
    if (this.#channelCount !== 0 && this.#channelCount !== channels.length) {
      unsupported(this.#context, 'a chain of Ogg streams with different channel counts');
    }
    this.#channelCount = channels.length;
    return { sampleRate: this.#codec!.sampleRate, channels };
  }

  #refuse(): never {
    if (this.#foreign.length === 0) unsupported(this.#context, 'Ogg without a stream');
    return foreign(this.#context, `Ogg with streams that begin with "${this.#foreign.join('", "')}"`);
  }
}
