/** Rows that replace the embeddings of a span of placeholders: an encoded image or sound. */
export interface SoftTokens {
  /** The kind of medium that they replace the placeholders of. */
  readonly kind: 'image' | 'video' | 'audio';
  /** Number of rows. */
  readonly rows: number;
  /** Width D of a row, equal to that of the text model. */
  readonly width: number;
  /** [rows, D], row-major, in the scale of the embedded tokens. */
  readonly values: Float32Array;
  /** Identifies the content, such as a hash of the pixels. Equal keys imply equal values, so caches may be reused. */
  readonly contentKey: string;
}
