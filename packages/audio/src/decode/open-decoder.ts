import { AIFF_LAYOUT } from './aiff/aiff-layout.js';
import { CAF_LAYOUT } from './caf/caf-layout.js';
import { ChunkDecoder } from './chunks/chunk-decoder.js';
import { PcmDecoder, type PcmFormat } from './chunks/pcm-decoder.js';
import { checkStream } from './decode-errors.js';
import type { AudioFormat } from './detect-format.js';
import { FlacDecoder } from './flac/flac-decoder.js';
import { MatroskaDecoder } from './matroska/matroska-decoder.js';
import { MpegDecoder } from './mpeg/mpeg-decoder.js';
import { OggDecoder } from './ogg/ogg-decoder.js';
import { OggFlacCodec } from './ogg/ogg-flac-codec.js';
import { OpusCodec } from './ogg/opus-codec.js';
import type { DecodeContext, SoundDecoder } from './sound-decoder.js';
import { VorbisCodec } from './vorbis/vorbis-codec.js';
import { WAV_LAYOUT } from './wav/wav-layout.js';

/** Makes the decoder of a format. */
export async function openDecoder(
  format: AudioFormat | PcmFormat,
  context: DecodeContext,
): Promise<SoundDecoder> {
  if (typeof format === 'object') {
    checkStream(context, format.sampleRate, format.channelCount);
    return new PcmDecoder(format, context);
  }
  switch (format) {
    case 'wav':
      return new ChunkDecoder(WAV_LAYOUT, context);
    case 'aiff':
      return new ChunkDecoder(AIFF_LAYOUT, context);
    case 'caf':
      return new ChunkDecoder(CAF_LAYOUT, context);
    case 'matroska':
      return new MatroskaDecoder(context);
    case 'flac':
      return new FlacDecoder(context);
    case 'mpeg':
      return MpegDecoder.open(context);
    case 'ogg':
      return new OggDecoder(
        (packet, own) =>
          VorbisCodec.tryOpen(packet, own) ??
          OpusCodec.tryOpen(packet, own) ??
          OggFlacCodec.tryOpen(packet, own),
        context,
      );
  }
}
