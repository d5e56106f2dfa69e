import type { TextConfig } from '../config/text-config.js';

const TEXT_PREFIX = 'language_model.';
const TOWERS = ['vision_tower', 'audio_tower', 'embed_vision', 'embed_audio', 'vision_embedder'] as const;
const SHARED_KEY_VALUE = /^language_model\.layers\.([0-9]+)\.self_attn\.(?:k_proj|v_proj|k_norm|v_norm)\./;
const TOWER_PREFIX = new RegExp(`^model\\.(?=(?:${TOWERS.join('|')}|language_model)\\.)`);

/** What wrappers of training put in front of names: DistributedDataParallel, torch.compile, PEFT. */
const WRAPPERS = /^(?:(?:module|_orig_mod|base_model\.model)\.)+/;
/** Modules of a text decoder that was saved without the model around it. */
const BARE_TEXT =
  /^(?:layers\.\d+|embed_tokens|embed_tokens_per_layer|norm|per_layer_model_projection|per_layer_projection_norm)(?:\.|$)/;

/**
 * The one spelling of a tensor or module name that the engine uses, whatever layout the checkpoint has.
 *
 * `model.language_model.x` (Hugging Face), `language_model.model.x` (MLX) and `model.x` (text only, drafters) become
 * `language_model.x`, and so do the modules of a bare decoder; towers and embedders are at the root. Names at the root that
 * belong to neither are kept. The prefixes `module.`, `_orig_mod.` and `base_model.model.`, which training leaves behind, are
 * dropped.
 */
export function canonicalName(name: string): string {
  const rooted = name.replace(WRAPPERS, '').replaceAll('._orig_mod.', '.').replace(TOWER_PREFIX, '');
  if (BARE_TEXT.test(rooted)) return `${TEXT_PREFIX}${rooted}`;
  if (/^language_model\.lm_head(\.|$)/.test(rooted)) return rooted.slice(TEXT_PREFIX.length);
  const text = /^(?:language_model\.model|model)\./.exec(rooted);
  if (text !== null) return `${TEXT_PREFIX}${rooted.slice(text[0].length)}`;
  return rooted.startsWith('embed_vision.') ? unifiedResaved(rooted) : rooted;
}

/**
 * The spelling of the MLX layout: text below `language_model.model.`, towers at the root. Drafters keep the names of
 * the Hugging Face layout, `model.x`.
 */
export function mlxName(canonical: string, isAssistant: boolean): string {
  if (/^lm_head(\.|$)/.test(canonical)) return isAssistant ? canonical : `${TEXT_PREFIX}${canonical}`;
  if (!canonical.startsWith(TEXT_PREFIX)) return canonical;
  return `${isAssistant ? 'model.' : 'language_model.model.'}${canonical.slice(TEXT_PREFIX.length)}`;
}

/** Hugging Face re-saves the unified embedder under names that differ from those in the released files. */
function unifiedResaved(name: string): string {
  const rest = name.slice('embed_vision.'.length);
  if (rest.startsWith('multimodal_embedder.')) return name.replace('.multimodal_embedder.', '.');
  return /^(patch_ln[12]|patch_dense|pos_norm|pos_embedding)(\.|$)/.test(rest)
    ? `vision_embedder.${rest}`
    : name;
}

/** Tensors that some checkpoints contain although nothing needs them: computed tables, and a tied head. */
export function isDeadWeight(canonical: string, tieWordEmbeddings: boolean): boolean {
  if (/(^|\.)(rotary_emb|rotary_pos_emb)\.|\.inv_freq$/.test(canonical)) return true;
  return tieWordEmbeddings && canonical.startsWith('lm_head.');
}

/** Keys and values of layers that read another layer's: some checkpoints still contain them. */
export function isSharedKeyValue(canonical: string, text: TextConfig): boolean {
  const layer = SHARED_KEY_VALUE.exec(canonical)?.[1];
  return layer !== undefined && (text.layers[Number(layer)]?.kvSource ?? null) !== null;
}
