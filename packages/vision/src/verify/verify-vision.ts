import {
  type Checkpoint,
  encoderSection,
  openCheckpoint,
  openReference,
  type Reference,
  type VerifySection,
} from '@markbase/loader';
import type { Device, SoftTokens } from '@markbase/metal-runtime';
import type { Picture } from '../engine/picture.js';
import type { VisionConfig } from '../model/config.js';
import { SOFT_OUTPUT, TOWER_OUTPUT } from '../model/record.js';
import { VisionModel } from '../vision-model.js';
import type { VisionModelOptions } from '../vision-model-options.js';

/** Options of `verifyVision`. */
export interface VerifyVisionOptions extends Pick<VisionModelOptions, 'precision' | 'fusions' | 'signal'> {}

/** What `verifyVision` found, and the soft tokens, for a check of the whole model. */
export interface VisionVerification {
  /** What was compared, in the order of computation. */
  readonly sections: readonly VerifySection[];
  /** Soft tokens of the reference's picture. */
  readonly softTokens: SoftTokens;
}

/**
 * Compares the vision part of a checkpoint with the reference outputs next to it: `image.tower` (where there is one) and
 * `image.soft_tokens`. In `high` both must be within 1e-4 relative rms, in `fast` within 5e-2, median over the rows.
 *
 * @param source folder of a checkpoint, or a checkpoint
 * @returns null when the reference has no picture
 */
export async function verifyVision(
  source: string | Checkpoint,
  device: Device,
  options: VerifyVisionOptions = {},
): Promise<VisionVerification | null> {
  const { precision = 'high', signal } = options;
  const checkpoint =
    typeof source === 'string' ? await openCheckpoint(source, { ...(signal && { signal }) }) : source;
  const reference = await openReference(checkpoint.directory);
  if (!reference.has('image.pixel_values')) return null;
  using model = await VisionModel.load(checkpoint, device, { ...options, precision, checkFinite: true });
  const picture = await referencePicture(reference, model.config);
  const names = reference.has('image.tower') ? [TOWER_OUTPUT, SOFT_OUTPUT] : [SOFT_OUTPUT];
  const outputs = await model.observe([picture], names, signal);
  const sections: VerifySection[] = [];
  for (const name of names) {
    const expected = await reference.floats(name === SOFT_OUTPUT ? 'image.soft_tokens' : 'image.tower');
    const actual = outputs[name]![0]!;
    const title = name === SOFT_OUTPUT ? 'image.soft_tokens' : 'image.tower';
    const width = expected.length / picture.softTokens;
    sections.push(encoderSection(title, actual, expected, { width, isExact: precision === 'high' }));
  }
  const softTokens: SoftTokens = {
    kind: 'image',
    rows: picture.softTokens,
    width: model.config.outputWidth,
    values: outputs[SOFT_OUTPUT]![0]!,
    contentKey: 'reference',
  };
  return { sections, softTokens };
}

/** The patches of the reference without padding, those of one soft token side by side, in the model's range. */
async function referencePicture(reference: Reference, config: VisionConfig): Promise<Picture> {
  const values = await reference.floats('image.pixel_values');
  const places = await reference.integers('image.position_ids');
  const width = values.length / (places.length / 2);
  const edge = config.kind === 'tower' ? config.poolingKernelSize : 1;
  const patches = Array.from({ length: places.length / 2 }, (_, index) => {
    return { index, x: places[2 * index]!, y: places[2 * index + 1]! };
  }).filter(({ x }) => x >= 0);
  const columns = (Math.max(...patches.map(({ x }) => x)) + 1) / edge;
  const place = ({ x, y }: { x: number; y: number }) =>
    (Math.floor(y / edge) * columns + Math.floor(x / edge)) * edge ** 2 + (y % edge) * edge + (x % edge);
  patches.sort((a, b) => place(a) - place(b));
  const pixels = new Float32Array(patches.length * width);
  for (const [row, { index }] of patches.entries()) {
    for (let i = 0; i < width; i++) {
      const value = values[index * width + i]!;
      pixels[row * width + i] = config.kind === 'tower' ? 2 * (value - 0.5) : value;
    }
  }
  return {
    patchCount: patches.length,
    softTokens: patches.length / edge ** 2,
    positions: Int32Array.from(patches.flatMap(({ x, y }) => [x, y])),
    pixels,
  };
}
