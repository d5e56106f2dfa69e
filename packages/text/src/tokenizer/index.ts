export { loadTokenizer } from './load-tokenizer.js';
export { createTextDecoder, type TokenTextDecoder, type TokenTexts } from './token-text-decoder.js';
export { type TextPiece, Tokenizer } from './tokenizer.js';
export { UnsupportedTokenizerError } from './unsupported-tokenizer-error.js';
