import { checkStream } from './decode-errors.js';
import type { AudioFormat } from './detect-format.js';
import { FlacDecoder } from './flac/flac-decoder.js';
import { MpegDecoder } from './mpeg/mpeg-decoder.js';
import { OggDecoder } from './ogg/ogg-decoder.js';
import { OggFlacCodec } from './ogg/ogg-flac-codec.js';
import { OpusCodec } from './ogg/opus-codec.js';
import type { DecodeContext, SoundDecoder } from './sound-decoder.js';
import { VorbisCodec } from './vorbis/vorbis-codec.js';
import { PcmDecoder, type PcmFormat } from './wav/pcm-decoder.js';
import { WavDecoder } from './wav/wav-decoder.js';

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
      return new WavDecoder(context);
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
