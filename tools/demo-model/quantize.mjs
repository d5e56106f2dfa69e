// Quantises the assembled Hugging Face checkpoint with our own loader: node quantize.mjs HF_DIR MODEL_DIR
//
// Each module has the bits that training simulated (architecture.py: bits_of); check_export.py compares both.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quantizeCheckpoint } from '../../packages/loader/dist/index.js';

const EIGHT_BITS = [
  '**.embed_tokens',
  '**.embed_tokens_per_layer',
  '**.per_layer_model_projection',
  'language_model.layers.*.self_attn.*',
  '**.per_layer_input_gate',
  '**.per_layer_projection',
  '**.router.proj',
  '**.embedding_projection',
  'vision_tower.patch_embedder.input_proj',
  'audio_tower.output_proj',
  'audio_tower.subsample_conv_projection.input_proj_linear',
];

const [source, target] = process.argv.slice(2);
if (source === undefined || target === undefined) {
  console.error('usage: node quantize.mjs HF_DIR MODEL_DIR');
  process.exit(2);
}
await rm(join(target, 'model.safetensors'), { force: true });
for (let shards = 1; shards < 10; shards++) {
  for (let shard = 1; shard <= shards; shard++) {
    const place = (n) => String(n).padStart(5, '0');
    await rm(join(target, `model-${place(shard)}-of-${place(shards)}.safetensors`), { force: true });
  }
}
const report = await quantizeCheckpoint(source, target, {
  bits: 4,
  groupSize: 64,
  towers: 'quantize',
  maxShardBytes: 7_500_000,
  rules: [
    ...EIGHT_BITS.map((match) => ({ match, bits: 8 })),
    { match: 'vision_tower.**', bits: 4 },
    { match: 'audio_tower.**', bits: 4 },
  ],
});
// transformers requires decimals such as 30.0 for float settings, where JavaScript would write 30, so the source's text is kept and only
// the quantisation is added.
const made = JSON.parse(await readFile(join(target, 'config.json'), 'utf8'));
const { quantization, quantization_config } = made;
const added = JSON.stringify({ quantization, quantization_config }, null, 2).slice(1, -1).trimEnd();
const text = (await readFile(join(source, 'config.json'), 'utf8')).trimEnd();
await writeFile(join(target, 'config.json'), `${text.slice(0, -1).trimEnd()},${added}\n}\n`);
const plain = report.plain.length === 0 ? '' : `; not quantised: ${report.plain.join(', ')}`;
console.log(
  `${report.quantized.length} modules quantised, ${(report.targetBytes / 1e6).toFixed(2)} MB${plain}`,
);
