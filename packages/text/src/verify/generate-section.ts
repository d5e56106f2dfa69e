import { argmax, compare, HIGH_TOLERANCE, judgedSection, type VerifySection } from '@markbase/loader';
import type { Choice } from '../engine/choice.js';
import { type VerifyContext, withSequences } from './context.js';

/**
 * `generate.*`: a prompt, then the reference's tokens one by one through the caches, past the sliding window. Greedy
 * tokens must be equal as long as every margin so far exceeds the error of the logits.
 */
export async function verifyGenerate(context: VerifyContext): Promise<VerifySection[]> {
  const { reference, chunked, precision, signal } = context;
  const prompt = await reference.integers('generate.prompt');
  const tokens = await reference.integers('generate.tokens');
  const margins = await reference.floats('generate.margins');
  const expected = await reference.floats('generate.logits');
  const { vocabularySize } = chunked.config;
  const options = { withLogits: true, ...(signal && { signal }) };

  const choices = await withSequences(
    chunked,
    1,
    async ([sequence]) => {
      const rows = chunked.layOut({ ids: prompt });
      const chosen: Choice[] = await chunked.prefill([{ sequence: sequence!, rows }], options);
      for (const token of tokens.slice(0, -1)) {
        chosen.push(...(await chunked.decode([{ sequence: sequence!, token }], options)));
      }
      return chosen;
    },
    signal,
  );

  const logits = new Float32Array(tokens.length * vocabularySize);
  for (const [index, choice] of choices.entries()) logits.set(choice.logits!, index * vocabularySize);
  const { suppressTokenIds } = chunked.checkpoint.generation;
  let tokensEqual = true;
  for (const [index, choice] of choices.entries()) {
    const row = expected.subarray(index * vocabularySize, (index + 1) * vocabularySize);
    const { maxAbs } = compare(choice.logits!, row);
    // Two logits may both be off: a margin below twice the error does not determine their order.
    if (!(margins[index]! > 2 * maxAbs)) break;
    const allowed = Float32Array.from(choice.logits!);
    for (const id of suppressTokenIds) allowed[id] = -Infinity;
    if (choice.token !== tokens[index] || argmax(allowed) !== tokens[index]) tokensEqual = false;
  }
  const tolerance = precision === 'high' ? HIGH_TOLERANCE : null;
  return [judgedSection('generate', compare(logits, expected), tolerance, tokensEqual)];
}
