import { InvalidArgumentError } from '@markbase/core';
import type { StepInput } from '@markbase/metal-runtime';
import { ADAPTER_INPUT } from '../model/adapters.js';
import type { Decoder } from '../model/layer.js';
import type { PositionKey, Prompt, PromptRows } from './prompt.js';

/** What a position holds if an adapter computed it: its cache entries differ from those of other adapters. */
export function adaptedKey(key: PositionKey, adapter: number | undefined): PositionKey {
  return adapter ? `adapter ${adapter}:${key}` : key;
}

/**
 * The rows of a prompt with the number of its adapter.
 *
 * @throws InvalidArgumentError for a name that was not loaded
 */
export function adaptedRows(
  rows: PromptRows,
  { adapter: name }: Prompt,
  { adapters }: Pick<Decoder, 'adapters'>,
): PromptRows {
  const names = adapters?.names ?? [];
  const adapter = name === undefined ? 0 : names.indexOf(name) + 1;
  if (name !== undefined && adapter === 0) {
    throw new InvalidArgumentError({
      argument: 'adapter',
      expected:
        names.length === 0 ? 'none, as the model was loaded without adapters' : `one of ${names.join(', ')}`,
      received: name,
      hint: 'Pass it to TextModel.load in `adapters`',
    });
  }
  if (adapters === null) return rows;
  return { ...rows, adapter, keys: rows.keys.map((key) => adaptedKey(key, adapter)) };
}

/** The step input with the adapter of each row, which only programs with adapters have. */
export function adapterInput(
  { adapters }: Pick<Decoder, 'adapters'>,
  rows: readonly (number | undefined)[],
): NonNullable<StepInput['inputs']> {
  return adapters ? { [ADAPTER_INPUT]: Float32Array.from(rows, (adapter) => adapter ?? 0) } : {};
}
