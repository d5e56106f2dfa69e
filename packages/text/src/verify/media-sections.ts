import type { SoftTokens } from '@markbase/metal-runtime';
import type { MediaSpan } from '../engine/prompt.js';
import { LOGITS_OUTPUT } from '../model/decoder.js';
import { compare } from './compare.js';
import { HIGH_TOLERANCE, observePrompt, prefillLogits, type VerifyContext } from './context.js';
import { judgedSection, skippedSection, type VerifySection } from './report.js';

const PACKAGES = { image: '@markbase/vision', audio: '@markbase/audio' } as const;

/**
 * `image.*` and `audio.*`: the decoder is fed with the reference's soft tokens; the towers belong to other packages. The
 * same prompt is then computed in chunks: an image whose rows see each other stays in one step.
 */
export async function verifyMedia(context: VerifyContext, kind: 'image' | 'audio'): Promise<VerifySection[]> {
  const { reference, whole, chunked, precision, signal } = context;
  if (!reference.has(`${kind}.input_ids`)) return [];
  const { hiddenWidth, vocabularySize, placeholders } = whole.config;
  const ids = await reference.integers(`${kind}.input_ids`);
  const softTokens = softTokensOf(kind, await reference.floats(`${kind}.soft_tokens`), hiddenWidth);
  const prompt = { ids, media: spansOf(ids, placeholders[kind], softTokens) };
  const { [LOGITS_OUTPUT]: logits } = await observePrompt(whole, prompt, [LOGITS_OUTPUT], signal);
  const last = logits!.subarray(-vocabularySize);
  const difference = compare(logits!, await reference.floats(`${kind}.logits`));
  const inChunks = compare(await prefillLogits(chunked, prompt, signal), last);
  const isHigh = precision === 'high';
  return [
    skippedSection(kind, `the tower is part of ${PACKAGES[kind]}`),
    judgedSection(`${kind}: decoder on given soft tokens`, difference, isHigh ? HIGH_TOLERANCE : null),
    judgedSection(`${kind}: prefill in chunks`, inChunks, isHigh ? 0 : null),
  ];
}

function softTokensOf(kind: 'image' | 'audio', values: Float32Array, width: number): SoftTokens {
  return { kind, rows: values.length / width, width, values, contentKey: 'reference' };
}

/** The placeholders of a reference prompt are one run; a model that was given media has a token for them. */
function spansOf(ids: readonly number[], placeholder: number | null, softTokens: SoftTokens): MediaSpan[] {
  return [{ begin: ids.indexOf(placeholder!), softTokens }];
}
