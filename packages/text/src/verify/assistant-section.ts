import {
  type Checkpoint,
  compare,
  HIGH_TOLERANCE,
  judgedSection,
  openReference,
  type Reference,
  skippedSection,
  type VerifySection,
  worst,
} from '@markbase/loader';
import type { Device, StepResult } from '@markbase/metal-runtime';
import { ASSISTANT_PORTS, type AssistantHead, recordAssistant } from '../model/assistant.js';
import { type LoadedAssistant, loadAssistant } from '../model/assistant-weights.js';
import { allocateCaches, type Caches } from '../model/caches.js';
import { ropeTables } from '../speculation/assistant-source.js';

/** Steps of the first round, whose keys and values the reference has. */
const STEPS = [0, 1, 2, 3];
const KINDS = ['sliding', 'full'] as const;
const EMBEDDED = 'embedded';

/** What the sections of a drafter share. */
interface AssistantContext {
  readonly reference: Reference;
  readonly device: Device;
  readonly precision: 'high' | 'fast';
  readonly vocabularySize: number;
  readonly hiddenWidth: number;
  readonly assistant: LoadedAssistant;
  readonly caches: Caches;
}

/**
 * `stepN.*` of a drafter: each guess of the first round, with the keys and values of the target that the reference has. The
 * reference's sliding layers see two keys more than the engine's (docs/gemma4.md section 6.3), and so do these.
 */
export async function verifyAssistant(
  checkpoint: Checkpoint,
  device: Device,
  precision: 'high' | 'fast',
): Promise<VerifySection[]> {
  const { config } = checkpoint;
  if (config.family !== 'gemma4_assistant') return [];
  const reference = await openReference(checkpoint.directory);
  if (!reference.has('step0.logits')) return [skippedSection('assistant', 'it has no reference outputs')];
  const { text, backboneHiddenSize: hiddenWidth } = config;
  const layers = KINDS.map((kind) => text.layers.find((layer) => layer.kind === kind)!);
  const positions = (await reference.integers('input_ids')).length;
  const caches = allocateCaches(
    device,
    { layers, windowTokens: text.slidingWindow + 1 },
    {
      ...{ contextTokens: positions, sequences: 1, maxStepTokens: positions },
      ...{ dtype: 'F32', limitBytes: null, isEstimate: false },
    },
  );
  let assistant: LoadedAssistant | null = null;
  try {
    const { vocabSize: vocabularySize } = text;
    const cacheOf = (kind: 'full' | 'sliding') => caches.ofLayer(KINDS.indexOf(kind));
    assistant = await loadAssistant({ checkpoint, device, hiddenWidth, vocabularySize, cacheOf });
    const context = { reference, device, precision, vocabularySize, hiddenWidth, assistant, caches };
    await fillCaches(context, positions);
    return await verifySteps(context, positions);
  } finally {
    assistant?.dispose();
    caches.dispose();
  }
}

/** Writes the reference's keys and values, [G, positions, K] each. */
async function fillCaches({ reference, device, caches }: AssistantContext, positions: number): Promise<void> {
  const label = 'shared keys and values';
  using program = device.record({ label, maxRows: positions, maxOutputs: 0, precision: 'high' }, (ops) => {
    for (const [index, kind] of KINDS.entries()) {
      const cache = caches.ofLayer(index);
      const width = { axis: 'GK' as const, size: cache.kvHeadCount * cache.headWidth };
      ops.appendKv(cache, ops.input(`${kind} k`, 'T', width), ops.input(`${kind} v`, 'T', width));
    }
  });
  const inputs: Record<string, Float32Array> = {};
  for (const [index, kind] of KINDS.entries()) {
    const { kvHeadCount, headWidth } = caches.ofLayer(index);
    for (const part of ['k', 'v']) {
      const values = await reference.floats(`shared.${kind}_attention.${part}`);
      inputs[`${kind} ${part}`] = Float32Array.from(values, (_, at) => {
        const [position, head] = [
          Math.floor(at / (kvHeadCount * headWidth)),
          Math.floor(at / headWidth) % kvHeadCount,
        ];
        return values[(head * positions + position) * headWidth + (at % headWidth)]!;
      });
    }
  }
  await program.run({ positions: Int32Array.from({ length: positions }, (_, row) => row), inputs });
}

async function verifySteps(context: AssistantContext, positions: number): Promise<VerifySection[]> {
  const { reference, device, precision, assistant, hiddenWidth, vocabularySize } = context;
  const { head } = assistant.weights;
  const read: string[] = [ASSISTANT_PORTS.next];
  if (head.kind === 'plain') read.push(ASSISTANT_PORTS.logits);
  else
    for (const part of head.parts.keys())
      read.push(ASSISTANT_PORTS.clusters(part), ASSISTANT_PORTS.candidates(part));
  const hidden = [];
  const logits = [];
  const label = 'assistant';
  const options = { label, maxRows: 1, maxOutputs: 1, precision, kernelsFor: 'few-rows' } as const;
  using program = device.record(options, (ops) => {
    const embedded = ops.input(EMBEDDED, 'T', { axis: 'D', size: hiddenWidth });
    const output = recordAssistant(ops, assistant.weights, embedded);
    if (output) ops.output(ASSISTANT_PORTS.logits, output);
  });
  for (const step of STEPS) {
    const given = await reference.floats(`step${step}.inputs_embeds`);
    const [position] = await reference.integers(`step${step}.position_ids`);
    const inputs = {
      [EMBEDDED]: given.slice(0, hiddenWidth),
      [ASSISTANT_PORTS.hidden]: given.slice(hiddenWidth),
      ...Object.fromEntries(
        assistant.frequencies.map((frequencies, index) => [
          ASSISTANT_PORTS.rope(index),
          ropeTables([position!], frequencies),
        ]),
      ),
    };
    const rows = { positions: Int32Array.of(positions - 1), outputRows: Int32Array.of(0) };
    const result = await program.run({ ...rows, inputs }, { read });
    const expected = await reference.floats(`step${step}.logits`);
    hidden.push(compare(result.outputs[ASSISTANT_PORTS.next]!, await reference.floats(`step${step}.hidden`)));
    logits.push(compare(logitsOf(result, head, vocabularySize), expected));
  }
  const tolerance = precision === 'high' ? HIGH_TOLERANCE : null;
  return [
    judgedSection('assistant.hidden', worst(hidden), tolerance),
    judgedSection('assistant.logits', worst(logits), tolerance),
  ];
}

/** All logits; ids outside the chosen clusters have the least of the others, less 1, as in the reference. */
function logitsOf({ outputs }: StepResult, head: AssistantHead, vocabularySize: number): Float32Array {
  if (head.kind === 'plain') return outputs[ASSISTANT_PORTS.logits]!;
  const all = new Float32Array(vocabularySize).fill(Number.NaN);
  for (const [part, { ids, embeddings }] of head.parts.entries()) {
    const clusters = outputs[ASSISTANT_PORTS.clusters(part)]!;
    for (const [at, logit] of outputs[ASSISTANT_PORTS.candidates(part)]!.entries()) {
      const cluster = clusters[Math.floor(at / embeddings.rows)]!;
      all[ids[cluster * embeddings.rows + (at % embeddings.rows)]!] = logit;
    }
  }
  const least = Math.min(...all.filter((logit) => !Number.isNaN(logit)));
  return all.map((logit) => (Number.isNaN(logit) ? least - 1 : logit));
}
