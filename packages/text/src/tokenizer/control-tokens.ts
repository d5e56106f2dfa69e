/**
 * Texts that control a Gemma 4 model: turns, channels, tools, media. If a vocabulary contains them, they are control
 * tokens, even if tokenizer.json does not mark them as special. Ids come from the vocabulary.
 */
export const CONTROL_TEXTS = [
  '<pad>',
  '<eos>',
  '<bos>',
  '<unk>',
  '<|tool>',
  '<tool|>',
  '<|tool_call>',
  '<tool_call|>',
  '<|tool_response>',
  '<tool_response|>',
  '<|"|>',
  '<|think|>',
  '<|channel>',
  '<channel|>',
  '<|turn>',
  '<turn|>',
  '<|image>',
  '<|image|>',
  '<image|>',
  '<|audio>',
  '<|audio|>',
  '<audio|>',
  '<|video|>',
] as const;
