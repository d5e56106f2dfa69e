import { resolve } from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import { FLOAT_FORMATS, type QuantizationMode } from '@markbase/loader';
import { Command, Option } from 'commander';
import { withInterrupt } from '../interrupt.js';
import { integer, QUANTIZATION_MODES } from '../options.js';
import { formatBytes, printJson, printLines } from '../output.js';
import { startProgress } from '../progress.js';
import { planCheckpoint } from '../synth/plan-checkpoint.js';
import { textShape, VARIANT_NAMES, type VariantName } from '../synth/shape.js';
import type { Storage } from '../synth/tensor-writer.js';
import type { Layout } from '../synth/tensors.js';
import { planBytes, writeCheckpoint } from '../synth/write-checkpoint.js';

/** Plain bfloat16 instead of codes. */
const UNQUANTISED_BITS = 16;

interface SynthFlags {
  readonly variant: VariantName;
  readonly mode: QuantizationMode;
  readonly bits?: string;
  readonly layout: Layout;
  readonly groupSize?: string;
  readonly out: string;
  readonly seed: number;
  readonly tiny: boolean;
  readonly layers?: number;
  readonly json: boolean;
}

/** `markbase synth`: writes a checkpoint with random weights and the true shape of a variant. */
export function synthCommand(): Command {
  return new Command('synth')
    .description(
      'Write a checkpoint with random weights and the true shape of a variant, for measurements: the text decoder in MLX ' +
        'layout, or everything that was released in Hugging Face layout, without a tokenizer.',
    )
    .addOption(new Option('--variant <name>', 'model variant').choices(VARIANT_NAMES).makeOptionMandatory())
    .requiredOption('--out <dir>', 'new or empty folder to write')
    .addOption(
      new Option('--mode <name>', 'format of the weights').choices(QUANTIZATION_MODES).default('affine'),
    )
    .addOption(
      new Option(
        '--bits <n>',
        'bits per affine weight; 16 = plain bfloat16 (default: 4, or 16 in the layout hf)',
      ).choices(['2', '3', '4', '5', '6', '8', '16']),
    )
    .addOption(
      new Option(
        '--group-size <n>',
        'number of affine weights that share a scale and a bias (default: 64)',
      ).choices(['32', '64', '128']),
    )
    .addOption(
      new Option('--layout <name>', 'mlx: text only, quantised; hf: as released, plain, with towers')
        .choices(['mlx', 'hf'])
        .default('mlx'),
    )
    .option('--seed <n>', 'the same seed gives the same bytes', integer(0), 1)
    .option('--tiny', 'the same structure, scaled down to a few megabytes', false)
    .option('--layers <n>', 'number of layers (default: that of the variant)', integer(1, 1000))
    .option('--json', 'print the result as JSON', false)
    .action(async (flags: SynthFlags) => {
      const shape = textShape(flags.variant, { isTiny: flags.tiny, layerCount: flags.layers });
      const storage = storageOf(flags);
      const bits = storage?.bits ?? UNQUANTISED_BITS;
      const plan = planCheckpoint(shape, storage, flags.seed, flags.layout);
      const directory = resolve(flags.out);

      const progress = startProgress(`writing ${flags.variant}`);
      try {
        await withInterrupt((signal) =>
          writeCheckpoint(directory, plan, {
            signal,
            onProgress: ({ writtenBytes, totalBytes }) => progress.update(writtenBytes, totalBytes),
          }),
        );
      } finally {
        progress.finish();
      }
      const sizeBytes = planBytes(plan);
      const layerCount = plan.text.layerCount;
      if (flags.json) {
        printJson({
          directory,
          variant: flags.variant,
          mode: storage?.mode ?? null,
          bits,
          groupSize: storage?.groupSize ?? null,
          layerCount,
          sizeBytes,
        });
        return;
      }
      printLines([
        `${directory}: ${flags.variant}${flags.tiny ? ' (tiny)' : ''}, ${layerCount} layers, ${formatBytes(sizeBytes)} of ` +
          `random weights at ${bits} bits${storage && storage.mode !== 'affine' ? ` in ${storage.mode}` : ''}; ${flags.layout === 'mlx' ? 'text only, ' : ''}no tokenizer`,
      ]);
    });
}

/** @throws InvalidArgumentError for what the layout hf or a mode other than affine does not have */
function storageOf({ mode, bits, groupSize, layout }: SynthFlags): Storage {
  if (layout === 'mlx' && mode === 'affine') {
    const width = Number(bits ?? 4);
    return width === UNQUANTISED_BITS ? null : { mode, bits: width, groupSize: Number(groupSize ?? 64) };
  }
  if (layout === 'mlx' && mode !== 'affine') {
    const fixed = FLOAT_FORMATS[mode];
    if (bits === undefined && groupSize === undefined) return fixed;
    throw new InvalidArgumentError({
      argument: '--bits, --group-size',
      expected: `none, because ${mode} fixes ${fixed.bits} bits and groups of ${fixed.groupSize}`,
      received: [bits, groupSize],
    });
  }
  if (mode === 'affine' && (bits === undefined || Number(bits) === UNQUANTISED_BITS)) return null;
  throw new InvalidArgumentError({
    argument: '--bits, --mode',
    expected: '16 bits in the layout hf, which is not quantised',
    received: [bits, mode],
    hint: 'Quantise it afterwards with markbase quantize',
  });
}
