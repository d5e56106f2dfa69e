import { InvalidArgumentError } from '@markbase/core';
import { Command, Option } from 'commander';
import { GPU_MODEL } from '../bench/gpu-model.js';
import type { measureGuesses } from '../bench/measure-guesses.js';
import type { measureModel } from '../bench/measure-model.js';
import type { planModel } from '../bench/plan-model.js';
import type { Spread } from '../bench/spread.js';
import { checkpointFolder } from '../checkpoint-folder.js';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags, integer, integerList, realList } from '../options.js';
import { formatBytes, printJson, printLines, table } from '../output.js';
import { note, startUploadProgress } from '../progress.js';
import { VARIANT_NAMES, type VariantName } from '../synth/shape.js';
import { withDevice, withPlanDevice } from '../with-device.js';

interface BenchFlags extends DeviceFlags {
  readonly model?: string;
  readonly prompt: readonly number[];
  readonly generate: number;
  readonly batch: readonly number[];
  readonly depth: readonly number[];
  readonly reps: number;
  readonly guess?: readonly number[];
  readonly plan: boolean;
  readonly variant?: VariantName;
  readonly tiny: boolean;
  readonly layers?: number;
  readonly step: 'decode' | 'prefill';
  readonly rows: number;
  readonly context: number;
  readonly json: boolean;
}

const PLAN_HELP = `
With --plan --device metal, on any machine, "gpu" describes the step on a GPU:
  dispatches, barriers, commandBuffers, waits   exactly as encoded
  weightBytes, weightBytesPerToken              weights that the step reads
  tokenTensorBytes, checkpointBytes             tensors that one token uses, and all tensors, from the headers
  cacheBytes, activationBytes                   keys and values that the rows see; operands of the launches
  launches                                      kernel, threadgroups, threads per group, threadgroup memory
  predictedMsPerStep, predictedMsPerToken       for M1 to M5 Max; predicted, not measured:
    ${GPU_MODEL}`;

/** `markbase bench`: measures a checkpoint, or counts the commands of a variant's program. */
export function benchCommand(): Command {
  const command = new Command('bench')
    .description(
      'Measure load, prefill and decode of a checkpoint with random tokens (no tokenizer needed), ' +
        'or count the commands of a lowered step with --plan.',
    )
    .option('--model <dir>', 'folder of the checkpoint to measure, or org/name on the Hugging Face hub')
    .option(
      '--prompt <n,...>',
      'prompt lengths to measure prefill with',
      integerList(1, 1_000_000),
      [128, 512],
    )
    .option('--generate <n>', 'decode steps per measurement', integer(1, 1_000_000), 64)
    .option('--batch <n,...>', 'numbers of sequences to decode together', integerList(1, 1024), [1, 4])
    .option(
      '--depth <n,...>',
      'tokens in the cache before decoding; only the last 128 are actually computed',
      integerList(1, 1_000_000),
      [128],
    )
    .option('--reps <n>', 'number of measurements of each kind', integer(1, 1000), 5)
    .option(
      '--guess <p,...>',
      'measure guessed tokens instead, each of them right with these probabilities, and what verifying rows costs',
      realList(0, 1),
    )
    .option('--plan', 'count commands instead of measuring; needs --variant but no checkpoint', false)
    .addOption(new Option('--variant <name>', 'model variant, for --plan').choices(VARIANT_NAMES))
    .option('--tiny', 'use a tiny version of the variant, for --plan', false)
    .option('--layers <n>', 'number of layers, for --plan (default: that of the variant)', integer(1, 1000))
    .addOption(
      new Option('--step <kind>', 'kind of step, for --plan')
        .choices(['decode', 'prefill'])
        .default('decode'),
    )
    .option(
      '--rows <n>',
      'sequences in the decode step, or tokens in the prompt, for --plan',
      integer(1, 1024),
      1,
    )
    .option('--context <n>', 'number of positions that the step sees, for --plan', integer(1, 32_768), 1024)
    .option('--json', 'print the result as JSON', false)
    .addHelpText('after', PLAN_HELP)
    .action(async (flags: BenchFlags) => {
      const run = flags.plan ? runPlan : flags.guess ? runGuesses : runMeasurement;
      await withInterrupt((signal) => run(flags, signal));
    });
  return addDeviceFlags(command, 'fast');
}

async function runMeasurement(flags: BenchFlags, signal: AbortSignal): Promise<void> {
  const directory = required('--model', flags.model, 'a checkpoint folder (or --plan with --variant)');
  const { measureModel } = await import('../bench/measure-model.js');
  const folder = await checkpointFolder(directory, signal);
  const result = await withDevice(flags, (device) =>
    measureModel(folder, device, {
      prompts: flags.prompt,
      generatedTokens: flags.generate,
      batches: flags.batch,
      depths: flags.depth,
      repetitions: flags.reps,
      precision: flags.precision,
      signal,
      onStage: note,
      ...(!flags.json && { onProgress: startUploadProgress().update }),
    }).catch((error: unknown) => Promise.reject(lengthError(error))),
  );
  if (flags.json) printJson(result);
  else printLines(measurementLines(result));
}

async function runGuesses(flags: BenchFlags, signal: AbortSignal): Promise<void> {
  const directory = required('--model', flags.model, 'a checkpoint folder');
  const { measureGuesses } = await import('../bench/measure-guesses.js');
  const folder = await checkpointFolder(directory, signal);
  const result = await withDevice(flags, (device) =>
    measureGuesses(folder, device, {
      rates: flags.guess!,
      generatedTokens: flags.generate,
      depth: flags.depth[0]!,
      repetitions: flags.reps,
      precision: flags.precision,
      signal,
      onStage: note,
      ...(!flags.json && { onProgress: startUploadProgress().update }),
    }),
  );
  if (flags.json) printJson(result);
  else printLines(guessLines(result));
}

/** The context of a measurement follows from the options that its lengths come from; `--context` belongs to `--plan`. */
function lengthError(error: unknown): unknown {
  const isContext = error instanceof InvalidArgumentError && error.argument === 'contextTokens';
  return isContext ? error.renamed('the longest of --prompt and --depth, plus --generate, plus 1') : error;
}

async function runPlan(flags: BenchFlags, signal: AbortSignal): Promise<void> {
  const variant = required('--variant', flags.variant, `one of ${VARIANT_NAMES.join(', ')}, for --plan`);
  const { planModel } = await import('../bench/plan-model.js');
  // A plan for Metal needs no GPU.
  const open = flags.device === 'metal' ? withPlanDevice : withDevice;
  const result = await open(flags, (device) =>
    planModel(device, {
      variant,
      isTiny: flags.tiny,
      layerCount: flags.layers,
      step: flags.step,
      rows: flags.rows,
      positions: flags.context,
      precision: flags.precision,
      signal,
    }),
  );
  if (flags.json) printJson(result);
  else printLines(planLines(result));
}

function required<Value>(argument: string, value: Value | undefined, expected: string): Value {
  if (value === undefined) throw new InvalidArgumentError({ argument, expected, received: undefined });
  return value;
}

function measurementLines(result: Awaited<ReturnType<typeof measureModel>>): string[] {
  const { device } = result;
  const rows = [
    ...result.prefill.map((item) => rateRow(`prefill of ${item.promptTokens}`, item.tokensPerSecond)),
    ...result.decode.map((item) =>
      rateRow(`decode, batch ${item.batch} after ${item.depthTokens}`, item.tokensPerSecond),
    ),
  ];
  const lines = [
    `${result.model} on ${device.kind} (${device.name}, ${device.isa}, ${device.threads} threads), ${result.precision}`,
    '',
    ...table([['tokens/s', 'median', 'min', 'max'], ...rows]),
    '',
    `load: ${result.loadMs.toFixed(0)} ms`,
    `first token after a prompt of ${result.firstToken.promptTokens} tokens: ${result.firstToken.ms.toFixed(0)} ms`,
    `peak memory: ${formatBytes(result.peakRssBytes)}`,
    `weights read per token: ${formatBytes(result.bytesPerToken)}`,
    `read bandwidth: ${formatBytes(result.readBandwidthBytesPerSecond)}/s`,
  ];
  if (result.decodeBytesPerSecond === null || result.bandwidthFraction === null) return lines;
  const percent = (100 * result.bandwidthFraction).toFixed(0);
  return [...lines, `decode reads ${formatBytes(result.decodeBytesPerSecond)}/s, ${percent}% of that`];
}

function guessLines({
  model,
  device,
  precision,
  ...result
}: Awaited<ReturnType<typeof measureGuesses>>): string[] {
  const costs = result.costs.map(({ rows, ms, steps }) => [
    String(rows),
    ...[ms.median, ms.min, ms.max, steps].map((value) => value.toFixed(2)),
  ]);
  const guesses = result.guesses.map(({ rate, tokensPerSecond, ...each }) => {
    const { tokensPerStep, rowsPerStep, speedUp, predicted } = each;
    const numbers = [tokensPerStep, rowsPerStep, tokensPerSecond.median, speedUp, predicted];
    return [String(rate), ...numbers.map((value) => value.toFixed(2))];
  });
  return [
    `${model} on ${device.kind} (${device.name}), ${precision}, after ${result.depthTokens} tokens`,
    '',
    ...table([['rows of a sequence', 'ms per step', 'min', 'max', 'by one row'], ...costs]),
    '',
    ...table([['guesses right', 'tokens per step', 'rows', 'tokens/s', 'speed-up', 'predicted'], ...guesses]),
  ];
}

function planLines(result: Awaited<ReturnType<typeof planModel>>): string[] {
  const counts = (title: string, by: Readonly<Record<string, number>>) => [
    '',
    ...table([[title, 'commands'], ...Object.entries(by).map(([key, commands]) => [key, String(commands)])]),
  ];
  return [
    `${result.step} step of ${result.variant}, ${result.layerCount} layers, ${result.rows} rows, ${result.precision}: ` +
      `${result.commandCount} commands, ${result.commandsPerLayer.toFixed(1)} per layer`,
    `activations: ${formatBytes(result.arenaBytes)}; weights read: ${formatBytes(result.weightBytesPerStep)} per step`,
    ...gpuLines(result.gpu),
    ...counts('kernel', result.commandsByKernel),
    ...counts('part', mergeLayers(result.commandsByScope)),
  ];
}

/** The launches of the step, if the device is a GPU. */
function gpuLines(gpu: Awaited<ReturnType<typeof planModel>>['gpu']): string[] {
  if (!gpu) return [];
  const rows = Object.entries(gpu.predictedMsPerStep).map(([chip, ms]) => [
    chip,
    ms.toFixed(2),
    gpu.predictedMsPerToken[chip]!.toFixed(2),
  ]);
  const { dispatches, barriers, commandBuffers, waits } = gpu;
  return [
    `on the GPU: ${dispatches} dispatches, ${barriers} barriers, ${commandBuffers} command buffer, ${waits} wait`,
    `weights per token: ${formatBytes(gpu.weightBytesPerToken)}; tensors used by one token: ` +
      `${formatBytes(gpu.tokenTensorBytes)} of ${formatBytes(gpu.checkpointBytes)}`,
    `per step: keys and values ${formatBytes(gpu.cacheBytes)}, activations ${formatBytes(gpu.activationBytes)}`,
    '',
    ...table([['predicted, not measured', 'ms per step', 'ms per token'], ...rows]),
  ];
}

/** Combines adjacent layers with the same number of commands into one line. */
function mergeLayers(byScope: Readonly<Record<string, number>>): Record<string, number> {
  const merged: { first: string; last: string; commands: number }[] = [];
  for (const [scope, commands] of Object.entries(byScope)) {
    const run = merged.at(-1);
    const isNextLayer = scope.startsWith('layer ') && run?.last.startsWith('layer ');
    if (run && isNextLayer && run.commands === commands) run.last = scope;
    else merged.push({ first: scope, last: scope, commands });
  }
  return Object.fromEntries(
    merged.map(({ first, last, commands }) => [
      first === last ? first : `${first} to ${last.slice('layer '.length)}, each`,
      commands,
    ]),
  );
}

function rateRow(name: string, { median, min, max }: Spread): string[] {
  return [name, ...[median, min, max].map((rate) => rate.toFixed(1))];
}
