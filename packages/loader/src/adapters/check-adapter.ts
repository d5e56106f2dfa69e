import { InvalidArgumentError } from '@markbase/core';
import type { Checkpoint } from '../checkpoint/open-checkpoint.js';
import { isSharedKeyValue } from '../checkpoint/weight-names.js';
import { expectedModules } from '../report/expected-modules.js';
import type { Adapter, AdapterModule } from './open-adapter.js';

/** Linears of a decoder that an adapter can change. */
const LINEARS = /\.layers\.\d+\.(?:self_attn|mlp|per_layer_input_gate|per_layer_projection)(?:\.|$)/;

/**
 * The modules of an adapter that a checkpoint uses, after checking all of them. Keys and values that no layer reads are
 * left out.
 *
 * @throws InvalidArgumentError for a module that is not a linear of the decoder, or has another shape: the adapter belongs
 *   to another model
 */
export function checkedModules(
  adapter: Adapter,
  { config, weights, directory }: Pick<Checkpoint, 'config' | 'weights' | 'directory'>,
): AdapterModule[] {
  const shapes = new Map<string, readonly [rows: number, columns: number]>();
  for (const expected of expectedModules(config, weights)) {
    if (expected.kind !== 'matrix' || !LINEARS.test(expected.module)) continue;
    shapes.set(expected.module, [expected.rows, expected.columns]);
  }
  return adapter.modules.filter(({ module, rows, columns }) => {
    if (isSharedKeyValue(`${module}.`, config.text)) return false;
    const shape = shapes.get(module);
    if (shape !== undefined && shape[0] === rows && shape[1] === columns) return true;
    throw new InvalidArgumentError({
      argument: 'adapter',
      expected:
        shape === undefined
          ? `attention and dense MLPs in the ${config.text.layerCount} layers of ${directory}`
          : `${module} [${shape[0]}, ${shape[1]}]`,
      received: `${module} [${rows}, ${columns}] in ${adapter.directory}`,
      hint: 'The adapter was trained for another model, or for a part that adapters cannot change here',
    });
  });
}
