/** A picture to send with a message. */
export interface ImageAttachment {
  readonly kind: 'image';
  readonly id: string;
  readonly name: string;
  /** data: URL of the original file. */
  readonly url: string;
  /** Size in pixels as displayed, after EXIF rotation. */
  readonly width: number;
  readonly height: number;
  /** Maximum number of soft tokens for the picture. */
  readonly budget: number;
}

/** A sound to send with a message. */
export interface AudioAttachment {
  readonly kind: 'audio';
  readonly id: string;
  readonly name: string;
  /** A WAV file with 16 kHz, one channel and 16 bits, in base64. */
  readonly wav: string;
  readonly sampleCount: number;
  /** Peak magnitudes of equal pieces, 0 to 1, for the waveform. */
  readonly peaks: readonly number[];
}

/** A video to send with a message, as the frames that the model sees. */
export interface VideoAttachment {
  readonly kind: 'video';
  readonly id: string;
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
  readonly frames: readonly VideoFrame[];
  /** True if the context of the model is the reason why there are not more. */
  readonly isCutToFit?: boolean;
}

/** One frame of a video. */
export interface VideoFrame {
  /** data: URL of a JPEG. */
  readonly url: string;
  readonly timestampSeconds: number;
}

/** Text to send with a message: a file, the text of a PDF, or a long paste. */
export interface TextAttachment {
  readonly kind: 'text';
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** Number of pages of a PDF; null for other text. */
  readonly pageCount: number | null;
}

/** Anything that can be sent with a message. */
export type Attachment = ImageAttachment | AudioAttachment | VideoAttachment | TextAttachment;
