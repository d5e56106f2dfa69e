/** Files, other than config.json and the weights, that are copied with a checkpoint. */
export const COPIED_FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'chat_template.json',
  'generation_config.json',
  'processor_config.json',
  'preprocessor_config.json',
  'video_preprocessor_config.json',
] as const;
