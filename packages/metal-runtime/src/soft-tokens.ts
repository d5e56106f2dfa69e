/** Rows that take the place of the embeddings of one span of placeholders: what an image or a sound became. */
export interface SoftTokens {
  readonly kind: 'image' | 'video' | 'audio';
  /** Number of rows. */
  readonly rows: number;
  /** Width D of a row: that of the text model. */
  readonly width: number;
  /** [rows, D], row-major, in the scale of the embedded tokens. */
  readonly values: Float32Array;
  /** Identifies the content, such as a hash of the pixels: equal keys mean equal values, so caches may be re-used. */
  readonly contentKey: string;
}
