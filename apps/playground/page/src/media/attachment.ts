/** A picture that goes with a message. */
export interface ImageAttachment {
  readonly kind: 'image';
  readonly id: string;
  readonly name: string;
  /** data: URL of the file as it was given. */
  readonly url: string;
  /** Pixels as shown, after an EXIF rotation. */
  readonly width: number;
  readonly height: number;
  /** Most soft tokens that the model sees of it. */
  readonly budget: number;
}

/** A sound that goes with a message. */
export interface AudioAttachment {
  readonly kind: 'audio';
  readonly id: string;
  readonly name: string;
  /** A WAV file, 16 kHz, one channel, 16 bits, in base64. */
  readonly wav: string;
  readonly sampleCount: number;
  /** Largest magnitudes of equal pieces, 0 to 1, for the waveform. */
  readonly peaks: readonly number[];
}

/** A video that goes with a message, as the frames that the model sees. */
export interface VideoAttachment {
  readonly kind: 'video';
  readonly id: string;
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
  readonly frames: readonly VideoFrame[];
}

/** One frame. */
export interface VideoFrame {
  /** data: URL of a JPEG. */
  readonly url: string;
  readonly timestampSeconds: number;
}

/** Anything that goes with a message. */
export type Attachment = ImageAttachment | AudioAttachment | VideoAttachment;
