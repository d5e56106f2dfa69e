/** Files beside config.json and the weights that a copy of a checkpoint takes along. */
export const COPIED_FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'generation_config.json',
  'processor_config.json',
  'preprocessor_config.json',
  'video_preprocessor_config.json',
] as const;
