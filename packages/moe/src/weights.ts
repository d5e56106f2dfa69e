import { type DType, WeightMapError } from '@markbase/core';
import type { Checkpoint, ExpectedMatrix, StoredMatrix, TensorView } from '@markbase/loader';
import type {
  Axis,
  Device,
  DeviceBuffer,
  ExpertMatrix,
  FloatType,
  Matrix,
  Vector,
} from '@markbase/metal-runtime';
import type { MixtureConfig } from './config.js';
import { expertLayout } from './layout.js';

/** Weights of the router and the experts of one layer, and of the norms around them. */
export interface MixtureWeights {
  /** [D]: gain of the router's norm, `router.scale`. */
  readonly routerGain: Vector<'D'>;
  readonly router: Matrix<'E', 'D'>;
  readonly perExpertScale: Vector<'E'>;
  readonly gate: ExpertMatrix<'F', 'D'>;
  readonly up: ExpertMatrix<'F', 'D'>;
  readonly down: ExpertMatrix<'D', 'F'>;
  /** Behind the dense branch. */
  readonly denseNorm: Vector<'D'>;
  /** Before the experts. */
  readonly expertsNorm: Vector<'D'>;
  /** Behind the experts. */
  readonly mixtureNorm: Vector<'D'>;
}

/** Weights that lie mapped on a device. */
export interface LoadedMixture {
  readonly weights: MixtureWeights;
  dispose(): void;
}

/**
 * Maps the weights of a layer's mixture. Nothing is read: the pages of an expert come in when a token chooses it.
 *
 * @throws WeightMapError with everything of the layer that is missing or wrong, and for unknown or mixed expert layouts
 */
export function loadMixture(
  checkpoint: Pick<Checkpoint, 'weights'>,
  device: Device,
  config: MixtureConfig,
  layerIndex: number,
): LoadedMixture {
  const layout = expertLayout(checkpoint.weights);
  const { hiddenWidth: width, expertCount, expertWidth } = config;
  const path = `language_model.layers.${layerIndex}`;
  const mapper = new WeightMapper(checkpoint.weights, device);
  const norm = (name: string) => mapper.vector<'D'>(`${path}.${name}.weight`, width);
  const experts = <Out extends Axis, In extends Axis>(module: string, rows: number, columns: number) =>
    mapper.experts<Out, In>(`${path}.experts.${module}`, expertCount, rows, columns);
  try {
    const weights: MixtureWeights = {
      routerGain: mapper.vector(`${path}.router.scale`, width),
      router: mapper.matrix(`${path}.router.proj`, { rows: expertCount, columns: width }),
      perExpertScale: mapper.vector(`${path}.router.per_expert_scale`, expertCount),
      ...(layout === 'split'
        ? {
            gate: experts('switch_glu.gate_proj', expertWidth, width),
            up: experts('switch_glu.up_proj', expertWidth, width),
            down: experts('switch_glu.down_proj', width, expertWidth),
          }
        : {
            ...gateAndUp(experts('gate_up_proj', 2 * expertWidth, width)),
            down: experts('down_proj', width, expertWidth),
          }),
      denseNorm: norm('post_feedforward_layernorm_1'),
      expertsNorm: norm('pre_feedforward_layernorm_2'),
      mixtureNorm: norm('post_feedforward_layernorm_2'),
    };
    mapper.finish();
    return { weights, dispose: () => mapper.dispose() };
  } catch (error) {
    mapper.dispose();
    throw error;
  }
}

/** Of the fused rows of an expert the first half is gate, the second up (spec 2.9). */
function gateAndUp(fused: ExpertMatrix<'F', 'D'>): {
  gate: ExpertMatrix<'F', 'D'>;
  up: ExpertMatrix<'F', 'D'>;
} {
  const rows = fused.rows / 2;
  return { gate: { ...fused, rows }, up: { ...fused, rows, firstRow: rows } };
}

/** Stands in for a buffer that could not be mapped, until `finish` throws. */
const ABSENT: DeviceBuffer = { sizeBytes: 0, dispose() {}, [Symbol.dispose]() {} };

/** Maps tensors, and collects what is missing or wrong into one error. */
class WeightMapper {
  readonly #weights: Checkpoint['weights'];
  readonly #device: Device;
  readonly #buffers: DeviceBuffer[] = [];
  readonly #missing: string[] = [];
  readonly #mismatched: string[] = [];

  constructor(weights: Checkpoint['weights'], device: Device) {
    this.#weights = weights;
    this.#device = device;
  }

  matrix<Out extends Axis, In extends Axis>(module: string, expected: ExpectedMatrix): Matrix<Out, In> {
    const stored = this.#attempt(() => this.#weights.matrix(module, expected));
    return stored ? this.#mapMatrix(stored) : { kind: 'plain', dtype: 'F32', ...expected, weight: ABSENT };
  }

  experts<Out extends Axis, In extends Axis>(
    module: string,
    expertCount: number,
    rows: number,
    columns: number,
  ): ExpertMatrix<Out, In> {
    const stored = this.matrix<Axis, In>(module, { experts: expertCount, rows, columns });
    return { expertCount, rows, columns, rowsPerExpert: rows, firstRow: 0, stored };
  }

  vector<A extends Axis>(name: string, length: number): Vector<A> {
    const tensor = this.#attempt(() => this.#weights.tensor(name));
    if (!tensor) return { length, dtype: 'F32', data: ABSENT };
    const { dtype, shape } = tensor;
    if (isFloatType(dtype) && shape.length === 1 && shape[0] === length) {
      return { length, dtype, data: this.#map(tensor) };
    }
    this.#mismatched.push(`${name} is ${dtype} [${shape}], expected BF16, F16 or F32 [${length}]`);
    return { length, dtype: 'F32', data: ABSENT };
  }

  finish(): void {
    if (this.#missing.length === 0 && this.#mismatched.length === 0) return;
    throw new WeightMapError({ missing: this.#missing, mismatched: this.#mismatched });
  }

  dispose(): void {
    for (const buffer of this.#buffers) buffer.dispose();
  }

  #mapMatrix<Out extends Axis, In extends Axis>(stored: StoredMatrix): Matrix<Out, In> {
    const { rows, columns } = stored;
    const weight = this.#map(stored.weight);
    if (stored.kind === 'plain') return { kind: 'plain', rows, columns, dtype: stored.dtype, weight };
    const { bits, groupSize, scaleDtype } = stored;
    const parameters = { scales: this.#map(stored.scales), biases: this.#map(stored.biases) };
    return { kind: 'affine', rows, columns, bits, groupSize, scaleDtype, weight, ...parameters };
  }

  #map(tensor: TensorView): DeviceBuffer {
    const buffer = this.#device.map(tensor.range);
    this.#buffers.push(buffer);
    return buffer;
  }

  #attempt<Result>(read: () => Result): Result | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof WeightMapError)) throw error;
      this.#missing.push(...error.missing);
      this.#mismatched.push(...error.mismatched);
      return null;
    }
  }
}

function isFloatType(dtype: DType): dtype is FloatType {
  return dtype === 'BF16' || dtype === 'F16' || dtype === 'F32';
}
