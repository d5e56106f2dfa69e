import { InvalidArgumentError } from '@markbase/core';
import type { GenerateOptions } from '@markbase/text';

/** Options in `providerOptions.markbase`, in addition to the AI SDK's settings. */
export interface MarkbaseOptions {
  /** Lets the model think before it answers; default false. */
  readonly thinking?: boolean;
  /** Maximum number of thinking tokens. */
  readonly maxThinkingTokens?: number;
  /** Maximum number of soft tokens of an image: 70, 140, 280, 560 or 1120. */
  readonly imageBudget?: number;
  /** Drop tokens less likely than this times the likeliest; 0 = off. */
  readonly minP?: number;
  /** Make tokens that already occurred less likely; 1 = off. */
  readonly repetitionPenalty?: number;
  /** If false, an answer ends after its first tool call. */
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

/** Checks `providerOptions.markbase`. @throws InvalidArgumentError for unknown names and wrong types */
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

/** The corresponding engine options. */
export function engineOptions(options: MarkbaseOptions): Partial<GenerateOptions> {
  const { thinking, imageBudget: _, ...rest } = options;
  return { ...rest, ...(thinking !== undefined && { enableThinking: thinking }) };
}
