import { InvalidArgumentError } from '@markbase/core';
import { homePath } from '../home-path.js';
import type { LoadRequest } from './playground-types.js';

const DEVICES = ['auto', 'cpu', 'metal', 'cuda', 'metal-sim'];
const MOST_SEQUENCES = 64;

/** Checks the body of `load` and `estimate`. @throws InvalidArgumentError */
export function loadRequest(body: unknown): LoadRequest {
  const {
    model,
    device = 'auto',
    precision = 'fast',
    contextTokens = null,
    maxSequences = 4,
  } = (body ?? {}) as Record<string, unknown>;
  if (typeof model !== 'string' || model === '') {
    throw invalid('model', 'a folder, or org/name on the hub', model);
  }
  if (typeof device !== 'string' || !DEVICES.includes(device)) {
    throw invalid('device', `one of ${DEVICES.join(', ')}`, device);
  }
  if (precision !== 'fast' && precision !== 'high') throw invalid('precision', "'fast' or 'high'", precision);
  if (contextTokens !== null && !isWhole(contextTokens, 2, Number.MAX_SAFE_INTEGER)) {
    throw invalid('contextTokens', 'a whole number of at least 2, or null', contextTokens);
  }
  if (!isWhole(maxSequences, 1, MOST_SEQUENCES)) {
    throw invalid('maxSequences', `a whole number from 1 to ${MOST_SEQUENCES}`, maxSequences);
  }
  return { model: homePath(model), device, precision, contextTokens, maxSequences };
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

function invalid(argument: string, expected: string, received: unknown): InvalidArgumentError {
  return new InvalidArgumentError({ argument, expected, received });
}
