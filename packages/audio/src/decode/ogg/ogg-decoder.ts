import { checkTruncated, corrupt, unsupported } from '../decode-errors.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import type { OggCodec } from './ogg-codec.js';
import { type OggPage, OggPages } from './ogg-pages.js';
import { SampleTrim } from './sample-trim.js';

/** Makes the codec for the first packet of a stream, or null if the packet is not of that codec. */
export type OggCodecFactory = (firstPacket: Uint8Array, context: DecodeContext) => OggCodec | null;

/** Largest packet to assemble, in bytes: more than a minute of uncompressed sound. */
const MAX_PACKET_BYTES = 32 * 1024 * 1024;

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
  #packetCount = 0;
  #unfinished: Uint8Array[] = [];
  #unfinishedBytes = 0;
  #trim = new SampleTrim(0);
  #hasEnded = false;
  #channelCount = 0;
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
    const held = this.#trim.flush();
    if (held.length > 0 && held[0]!.length > 0) yield this.#piece(held);
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
    this.#codec?.close();
    this.#codec = codec;
    await codec.prepare?.();
    this.#serial = page.serial;
    this.#packetCount = 0;
    this.#unfinished = [];
    this.#unfinishedBytes = 0;
    this.#hasEnded = false;
    this.#trim = new SampleTrim(codec.preSkip);
  }

  *#readPage(page: OggPage, codec: OggCodec): Generator<SamplePiece> {
    if (!page.continues) this.#drop();
    for (const [index, part] of page.parts.entries()) {
      this.#unfinishedBytes += part.length;
      if (this.#unfinishedBytes > MAX_PACKET_BYTES) {
        corrupt(this.#context, 'InvalidOgg', `a packet of more than ${MAX_PACKET_BYTES} bytes`);
      }
      this.#unfinished.push(part);
      if (index === page.parts.length - 1 && !page.endsPacket) break;
      const packet = this.#unfinished.length === 1 ? part : Buffer.concat(this.#unfinished);
      this.#drop();
      if (this.#packetCount < codec.headerCount) codec.readHeader(packet, this.#packetCount);
      else this.#trim.push(codec.decode(packet));
      this.#packetCount += 1;
    }
    const samples = this.#trim.endPage(page.granule, page.isLast);
    if (samples.length > 0 && samples[0]!.length > 0) yield this.#piece(samples);
    this.#hasEnded ||= page.isLast;
  }

  #drop(): void {
    this.#unfinished = [];
    this.#unfinishedBytes = 0;
  }

  #piece(channels: readonly Float32Array[]): SamplePiece {
    if (this.#channelCount !== 0 && this.#channelCount !== channels.length) {
      unsupported(this.#context, 'a chain of Ogg streams with different channel counts');
    }
    this.#channelCount = channels.length;
    return { sampleRate: this.#codec!.sampleRate, channels };
  }

  #refuse(): never {
    const found =
      this.#foreign.length > 0 ? `streams that begin with "${this.#foreign.join('", "')}"` : 'no stream';
    return unsupported(this.#context, `Ogg with ${found}; expected Vorbis, Opus or FLAC`);
  }
}
