import { InvalidArgumentError } from '@markbase/core';
import type { GenerateOptions } from '@markbase/text';

/** What `providerOptions.markbase` takes, beside the settings that the AI SDK knows. */
export interface MarkbaseOptions {
  /** Lets the model think before it answers; default false. */
  readonly thinking?: boolean;
  /** Most tokens of its thoughts. */
  readonly maxThinkingTokens?: number;
  /** Most soft tokens of an image: 70, 140, 280, 560 or 1120. */
  readonly imageBudget?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  /** False ends an answer behind its first call of a tool. */
  readonly parallelToolCalls?: boolean;
}

const TYPES: Readonly<Record<keyof MarkbaseOptions, 'boolean' | 'number'>> = {
  thinking: 'boolean',
  maxThinkingTokens: 'number',
  imageBudget: 'number',
  minP: 'number',
  repetitionPenalty: 'number',
  parallelToolCalls: 'boolean',
};

/** Checks `providerOptions.markbase`. @throws InvalidArgumentError for names and types that are unknown */
export function markbaseOptions(given: Readonly<Record<string, unknown>> = {}): MarkbaseOptions {
  for (const [name, value] of Object.entries(given)) {
    const type = TYPES[name as keyof MarkbaseOptions];
    if (type !== undefined && (value === undefined || typeof value === type)) continue;
    throw new InvalidArgumentError({
      argument: `providerOptions.markbase.${name}`,
      expected: type ?? `one of ${Object.keys(TYPES).join(', ')}`,
      received: value,
    });
  }
  return given;
}

/** The engine's options that these stand for. */
export function engineOptions(options: MarkbaseOptions): Partial<GenerateOptions> {
  const { thinking, imageBudget: _, ...rest } = options;
  return { ...rest, ...(thinking !== undefined && { enableThinking: thinking }) };
}
