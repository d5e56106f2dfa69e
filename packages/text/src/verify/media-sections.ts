import { compare, HIGH_TOLERANCE, judgedSection, skippedSection, type VerifySection } from '@markbase/loader';
import type { SoftTokens } from '@markbase/metal-runtime';
import type { MediaSpan } from '../engine/prompt.js';
import { LOGITS_OUTPUT } from '../model/decoder.js';
import { observePrompt, prefillLogits, type VerifyContext, type VerifyEncoder } from './context.js';

const PACKAGES = { image: '@markbase/vision', audio: '@markbase/audio' } as const;

/**
 * `image.*` and `audio.*`: the decoder runs with the reference's soft tokens, then with those of the medium's own
 * encoder, if one was given. The prompt is also computed in chunks: an image whose rows see each other stays in one
 * step.
 */
export async function verifyMedia(
  context: VerifyContext,
  kind: 'image' | 'audio',
  encoder: VerifyEncoder | undefined,
): Promise<VerifySection[]> {
  const { reference, whole, chunked, precision, signal } = context;
  if (!reference.has(`${kind}.input_ids`)) return [];
  const { hiddenWidth, vocabularySize, placeholders } = whole.config;
  const ids = await reference.integers(`${kind}.input_ids`);
  const expected = await reference.floats(`${kind}.logits`);
  const promptWith = (softTokens: SoftTokens) => ({
    ids,
    media: spansOf(ids, placeholders[kind], softTokens),
  });
  const logitsOf = async (softTokens: SoftTokens): Promise<Float32Array> => {
    const outputs = await observePrompt(whole, promptWith(softTokens), [LOGITS_OUTPUT], signal);
    return outputs[LOGITS_OUTPUT]!;
  };
  const given = softTokensOf(kind, await reference.floats(`${kind}.soft_tokens`), hiddenWidth);
  const logits = await logitsOf(given);
  const chunks = await prefillLogits(chunked, promptWith(given), signal);
  const isHigh = precision === 'high';
  const tolerance = isHigh ? HIGH_TOLERANCE : null;
  const sections = [
    judgedSection(`${kind}: decoder on given soft tokens`, compare(logits, expected), tolerance),
    judgedSection(
      `${kind}: prefill in chunks`,
      compare(chunks, logits.subarray(-vocabularySize)),
      isHigh ? 0 : null,
    ),
  ];
  const { checkpoint, device } = whole;
  const own = await encoder?.(checkpoint, device, {
    precision,
    ...(context.fusions !== undefined && { fusions: context.fusions }),
    ...(signal && { signal }),
  });
  if (!own) return [skippedSection(kind, `its encoder is part of ${PACKAGES[kind]}`), ...sections];
  const wholeModel = compare(await logitsOf(own.softTokens), expected);
  return [...own.sections, judgedSection(`${kind}.logits`, wholeModel, tolerance), ...sections];
}

function softTokensOf(kind: 'image' | 'audio', values: Float32Array, width: number): SoftTokens {
  return { kind, rows: values.length / width, width, values, contentKey: 'reference' };
}

/** The placeholders of a reference prompt are one run; a model that has media in its reference has a token for them. */
function spansOf(ids: readonly number[], placeholder: number | null, softTokens: SoftTokens): MediaSpan[] {
  return [{ begin: ids.indexOf(placeholder!), softTokens }];
}
