import type { Checkpoint, TensorView } from '@markbase/loader';
import {
  type Axis,
  type Device,
  type ExpertMatrix,
  type Matrix,
  type Vector,
  WeightMapper,
} from '@markbase/metal-runtime';
import type { MixtureConfig } from './config.js';
import { expertLayout } from './layout.js';

/** Weights of the router and the experts of one layer, and of the norms around them. */
export interface MixtureWeights {
  /** [D]: gain of the router's norm, `router.scale`. */
  readonly routerGain: Vector<'D'>;
  /** Scores of the experts [E, D]. */
  readonly router: Matrix<'E', 'D'>;
  /** Factor of each expert's output [E]. */
  readonly perExpertScale: Vector<'E'>;
  /** Gates of all experts [F, D]. */
  readonly gate: ExpertMatrix<'F', 'D'>;
  /** Up projections of all experts [F, D]. */
  readonly up: ExpertMatrix<'F', 'D'>;
  /** Down projections of all experts [D, F]. */
  readonly down: ExpertMatrix<'D', 'F'>;
  /** After the dense branch. */
  readonly denseNorm: Vector<'D'>;
  /** Before the experts. */
  readonly expertsNorm: Vector<'D'>;
  /** After the experts. */
  readonly mixtureNorm: Vector<'D'>;
}

/** Weights mapped on a device. */
export interface LoadedMixture {
  /** The weights on the device. */
  readonly weights: MixtureWeights;
  /** Frees the mapped weights. */
  dispose(): void;
}

/**
 * Maps the weights of a layer's mixture. Nothing is read: the pages of an expert are read when a token first chooses it.
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
  const mapper: WeightMapper<TensorView> = new WeightMapper(checkpoint.weights, device);
  const norm = (name: string) => mapper.vector<'D'>(`${path}.${name}.weight`, width);
  const experts = <Out extends Axis, In extends Axis>(module: string, rows: number, columns: number) =>
    mapExperts<Out, In>(mapper, `${path}.experts.${module}`, expertCount, rows, columns);
  try {
    const weights: MixtureWeights = {
      routerGain: mapper.vector(`${path}.router.scale`, width),
      router: mapper.mapped(`${path}.router.proj`, expertCount, width),
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

/** Of the fused rows of an expert the first half is gate, the second up (docs/gemma4.md section 2.9). */
function gateAndUp(fused: ExpertMatrix<'F', 'D'>): {
  gate: ExpertMatrix<'F', 'D'>;
  up: ExpertMatrix<'F', 'D'>;
} {
  const rows = fused.rows / 2;
  return { gate: { ...fused, rows }, up: { ...fused, rows, firstRow: rows } };
}

/** The matrices [Out, In] of all experts, mapped. */
function mapExperts<Out extends Axis, In extends Axis>(
  mapper: WeightMapper<TensorView>,
  module: string,
  expertCount: number,
  rows: number,
  columns: number,
): ExpertMatrix<Out, In> {
  const stored = mapper.mapped<Axis, In>(module, rows, columns, expertCount);
  return { expertCount, rows, columns, rowsPerExpert: rows, firstRow: 0, stored };
}
