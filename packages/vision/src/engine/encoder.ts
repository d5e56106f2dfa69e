import { LimitExceededError } from '@markbase/core';
import { IMAGE_TOKEN_BUDGETS } from '@markbase/loader';
import type { Device, Program, RecordOptions, StepInput } from '@markbase/metal-runtime';
import { AxialRope } from '../model/axial-rope.js';
import type { VisionConfig } from '../model/config.js';
import type { Tower, UnifiedEmbedder } from '../model/layer.js';
import { PIXELS_INPUT, ROPE_INPUT, recordTower, recordUnified, SOFT_OUTPUT } from '../model/record.js';
import { joinPixels, type Picture } from './picture.js';

/** Soft tokens of the step that most programs are recorded for; a larger one is recorded when a picture needs it. */
const COMMON_STEP_TOKENS = 280;
const LARGEST_STEP_TOKENS = Math.max(...IMAGE_TOKEN_BUDGETS);

/** What an encoder runs. */
export interface EncoderParts {
  readonly device: Device;
  readonly config: VisionConfig;
  readonly model: Tower | UnifiedEmbedder;
  readonly precision: RecordOptions['precision'];
  readonly fusions?: RecordOptions['fusions'];
  readonly checkFinite?: boolean;
  readonly profile?: boolean;
}

/** Values of the outputs of a step, cut by picture. */
export type PictureOutputs = Readonly<Record<string, readonly Float32Array[]>>;

/** Turns pictures into soft tokens, several in a step. Programs are recorded when they are first needed. */
export class Encoder {
  readonly #parts: EncoderParts;
  readonly #rope: AxialRope | null;
  readonly #programs = new Map<number, Program>();
  /** Patches that become one soft token. */
  readonly #pooled: number;

  constructor(parts: EncoderParts) {
    const { config, model } = parts;
    this.#parts = parts;
    this.#rope = config.kind === 'tower' ? new AxialRope(config.headDim, config.ropeTheta) : null;
    this.#pooled = model.kind === 'tower' ? model.pooledPatches : 1;
  }

  /** Patches that fit into a step without the large program. */
  get commonPatches(): number {
    return COMMON_STEP_TOKENS * this.#pooled;
  }

  /** The programs recorded so far, for measurements. */
  get programs(): readonly Program[] {
    return [...this.#programs.values()];
  }

  /**
   * Runs one step: the named outputs of every picture.
   *
   * @throws LimitExceededError for more patches than any step takes, or positions beyond the position table
   */
  async run(
    pictures: readonly Picture[],
    outputs: readonly string[] = [SOFT_OUTPUT],
    signal?: AbortSignal,
  ): Promise<PictureOutputs> {
    const step = this.#step(pictures);
    const program = this.#program(step.rows!);
    const result = await program.run(step, { read: outputs, ...(signal && { signal }) });
    return Object.fromEntries(
      outputs.map((name) => [name, cutByPicture(result.outputs[name]!, pictures)] as const),
    );
  }

  dispose(): void {
    for (const program of this.#programs.values()) program.dispose();
    this.#programs.clear();
  }

  #program(rows: number): Program {
    const tokens = rows <= this.commonPatches ? COMMON_STEP_TOKENS : LARGEST_STEP_TOKENS;
    const known = this.#programs.get(tokens);
    if (known) return known;
    const { device, model, precision, fusions, checkFinite, profile } = this.#parts;
    const program = device.record(
      {
        label: `vision, up to ${tokens} soft tokens`,
        maxRows: tokens * this.#pooled,
        maxOutputs: tokens,
        precision,
        ...(fusions !== undefined && { fusions }),
        ...(checkFinite !== undefined && { checkFinite }),
        ...(profile !== undefined && { profile }),
      },
      (ops) => (model.kind === 'tower' ? recordTower(ops, model) : recordUnified(ops, model)),
    );
    this.#programs.set(tokens, program);
    return program;
  }

  #step(pictures: readonly Picture[]): StepInput {
    const { model, config } = this.#parts;
    const rows = pictures.reduce((sum, { patchCount }) => sum + patchCount, 0);
    this.#checkLimit('patches of a step', LARGEST_STEP_TOKENS * this.#pooled, rows);
    const tokens = new Int32Array(rows);
    const layerTokens = new Int32Array(rows);
    const positions = new Int32Array(rows);
    const slots = new Int32Array(rows);
    const visibleEnd = new Int32Array(rows);
    const angles = new Float32Array(model.kind === 'tower' ? rows * model.headWidth : 0);
    const tableRow = tableRows(config);
    const outputRows: number[] = [];
    let row = 0;
    for (const [slot, picture] of pictures.entries()) {
      const first = row;
      for (let patch = 0; patch < picture.patchCount; patch++, row++) {
        const x = picture.positions[2 * patch]!;
        const y = picture.positions[2 * patch + 1]!;
        this.#checkLimit('columns or rows of patches', config.positionEmbeddingSize, Math.max(x, y) + 1);
        tokens[row] = tableRow.x(x);
        layerTokens[row] = tableRow.y(y);
        positions[row] = patch;
        slots[row] = slot;
        visibleEnd[row] = picture.patchCount - 1;
        if (model.kind === 'tower') this.#rope!.write(x, y, angles, row * model.headWidth);
      }
      for (let token = 0; token < picture.softTokens; token++) outputRows.push(first + token * this.#pooled);
    }
    return {
      rows,
      tokens,
      layerTokens,
      positions,
      slots,
      visibleEnd,
      outputRows: Int32Array.from(outputRows),
      inputs: { [PIXELS_INPUT]: joinPixels(pictures), ...(this.#rope && { [ROPE_INPUT]: angles }) },
    };
  }

  #checkLimit(limit: string, maximum: number, received: number): void {
    if (received <= maximum) return;
    throw new LimitExceededError({ subject: 'picture', limit, maximum, received });
  }
}

/** Rows of both coordinates in the position table. */
function tableRows(config: VisionConfig): { x(x: number): number; y(y: number): number } {
  if (config.kind === 'tower') return { x: (x) => x, y: (y) => config.positionEmbeddingSize + y };
  return { x: (x) => 2 * x, y: (y) => 2 * y + 1 };
}

/** Rows [N, width] of a step, cut into those of each picture. */
function cutByPicture(values: Float32Array, pictures: readonly Picture[]): Float32Array[] {
  const total = pictures.reduce((sum, { softTokens }) => sum + softTokens, 0);
  const width = values.length / total;
  let begin = 0;
  return pictures.map(({ softTokens }) => {
    const end = begin + softTokens * width;
    // A copy: a picture that is kept must not keep its neighbours alive.
    const own = pictures.length === 1 ? values : values.slice(begin, end);
    begin = end;
    return own;
  });
}
