import {
  compare,
  compareRows,
  type Difference,
  HIGH_TOLERANCE,
  judgedSection,
  type VerifySection,
  worst,
} from '@markbase/loader';
import { hiddenOutput } from '../engine/programs.js';
import { LOGITS_OUTPUT } from '../model/decoder.js';
import { FAST_TOLERANCE, observePrompt, type VerifyContext, withSequences } from './context.js';
import { runHead, runLayer } from './layer-runner.js';

/** `text.logits` and `text.hidden.*`: one prompt, all positions. */
export async function verifyText(context: VerifyContext): Promise<VerifySection[]> {
  const { reference, whole, precision, signal } = context;
  const ids = await reference.integers('text.input_ids');
  const hidden = hiddenNames(context);
  const outputs = await observePrompt(whole, { ids }, [LOGITS_OUTPUT, ...hidden], signal);
  const tolerance = precision === 'high' ? HIGH_TOLERANCE : null;
  const logits = compare(outputs[LOGITS_OUTPUT]!, await reference.floats('text.logits'));
  const sections = [judgedSection('text.logits', logits, tolerance)];
  if (hidden.length === 0) return sections;
  const differences = await Promise.all(
    hidden.map(async (name) => compare(outputs[name]!, await reference.floats(`text.${name}`))),
  );
  return [...sections, judgedSection('text.hidden', worst(differences), tolerance)];
}

/** Every layer alone, with the reference's input: judges reduced precision without errors accumulating over layers. */
export async function verifyLayers(context: VerifyContext): Promise<VerifySection[]> {
  const { reference, whole, precision, signal } = context;
  const names = hiddenNames(context);
  if (names.length === 0) return [];
  const tolerance = precision === 'high' ? HIGH_TOLERANCE : FAST_TOLERANCE;
  const rows = whole.layOut({ ids: await reference.integers('text.input_ids') });
  const hidden = (index: number) => reference.floats(`text.${hiddenOutput(index)}`);
  const { hiddenWidth, vocabularySize, layers } = whole.config;
  const measure = async ([sequence]: Parameters<Parameters<typeof withSequences>[2]>[0]) => {
    const feed = { sequence: sequence!, rows, hidden };
    const differences: Difference[] = [];
    for (const index of layers.keys()) {
      signal?.throwIfAborted();
      const output = await runLayer(whole, index, feed);
      differences.push(compareRows(output, await hidden(index + 1), hiddenWidth));
    }
    const logits = compareRows(
      await runHead(whole, feed),
      await reference.floats('text.logits'),
      vocabularySize,
    );
    return [
      judgedSection('text.layers', worst(differences), tolerance),
      judgedSection('text.head', logits, tolerance),
    ];
  };
  return withSequences(whole, 1, measure, signal);
}

/** Names of the hidden states in the reference: all or none. */
function hiddenNames({ reference, whole }: VerifyContext): string[] {
  const names = Array.from({ length: whole.config.layers.length + 1 }, (_, index) => hiddenOutput(index));
  return names.every((name) => reference.has(`text.${name}`)) ? names : [];
}
