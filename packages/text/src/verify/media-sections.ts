import type { SoftTokens } from '@markbase/metal-runtime';
import type { MediaSpan } from '../engine/prompt.js';
import { LOGITS_OUTPUT } from '../model/decoder.js';
import { compare } from './compare.js';
import { HIGH_TOLERANCE, observePrompt, type VerifyContext } from './context.js';
import { judgedSection, skippedSection, type VerifySection } from './report.js';

const PACKAGES = { image: '@markbase/vision', audio: '@markbase/audio' } as const;

/** `image.*` and `audio.*`: the decoder is fed with the reference's soft tokens; the towers belong to other packages. */
export async function verifyMedia(context: VerifyContext, kind: 'image' | 'audio'): Promise<VerifySection[]> {
  const { reference, whole, precision, signal } = context;
  if (!reference.has(`${kind}.input_ids`)) return [];
  const tower = skippedSection(kind, `needs ${PACKAGES[kind]}, which this command does not run`);
  const ids = await reference.integers(`${kind}.input_ids`);
  const softTokens = softTokensOf(kind, await reference.floats(`${kind}.soft_tokens`), whole.config.hiddenWidth);
  const media = spansOf(ids, whole.config.placeholders[kind], softTokens);
  const { [LOGITS_OUTPUT]: logits } = await observePrompt(whole, { ids, media }, [LOGITS_OUTPUT], signal);
  const difference = compare(logits!, await reference.floats(`${kind}.logits`));
  const tolerance = precision === 'high' ? HIGH_TOLERANCE : null;
  return [tower, judgedSection(`${kind}: decoder with the reference's soft tokens`, difference, tolerance)];
}

function softTokensOf(kind: 'image' | 'audio', values: Float32Array, width: number): SoftTokens {
  return { kind, rows: values.length / width, width, values, contentKey: 'reference' };
}

/** The placeholders of a reference prompt are one run. */
function spansOf(ids: readonly number[], placeholder: number | null, softTokens: SoftTokens): MediaSpan[] {
  return [{ begin: ids.findIndex((id) => id === placeholder), softTokens }];
}
