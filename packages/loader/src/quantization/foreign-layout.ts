/** What a `quant_method` in config.json means. */
const METHODS: Readonly<Record<string, string>> = {
  gptq: 'GPTQ',
  awq: 'AWQ',
  'compressed-tensors': 'compressed-tensors',
  bitsandbytes: 'bitsandbytes',
  modelopt: 'ModelOpt',
  gemma: 'the mobile layout of Gemma',
  fp8: 'FP8 with block scales',
  fbgemm_fp8: 'FBGEMM FP8',
  hqq: 'HQQ',
  quanto: 'Quanto',
  torchao: 'TorchAO',
  aqlm: 'AQLM',
  eetq: 'EETQ',
};

/** Names of tensors that only one other layout has; the first match applies. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\.g_idx$/, 'GPTQ'],
  [/\.qweight$/, 'GPTQ or AWQ'],
  [/\.weight_packed$/, 'compressed-tensors'],
  [/\.weight_scale_2$|\.input_scale$/, 'ModelOpt'],
  [/\.(?:absmax|quant_map|SCB)$|\.quant_state\./, 'bitsandbytes'],
  [/\.embedding_quantized$/, 'the mobile layout of Gemma'],
  [/\.weight_scale(?:_inv)?$/, 'FP8 or int8 with a weight_scale'],
];

/** Name of the layout that a `quant_method` means, in words. */
export function layoutOfMethod(method: string): string {
  return Object.hasOwn(METHODS, method) ? METHODS[method]! : JSON.stringify(method.slice(0, 60));
}

/** The layout, other than MLX, whose tensors a checkpoint has; null = no known one. */
export function foreignLayout(names: Iterable<string>): { layout: string; tensor: string } | null {
  let found: { layout: string; tensor: string; rank: number } | null = null;
  for (const tensor of names) {
    const rank = SIGNS.findIndex(([pattern]) => pattern.test(tensor));
    if (rank >= 0 && (found === null || rank < found.rank)) found = { layout: SIGNS[rank]![1], tensor, rank };
  }
  return found;
}
