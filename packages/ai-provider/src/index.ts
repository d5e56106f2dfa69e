export {
  createMarkbase,
  type MarkbaseProvider,
  type MarkbaseProviderSettings,
  markbase,
} from './create-markbase.js';
export { type LoadedModel, MarkbaseLanguageModel } from './markbase-language-model.js';
export type { MarkbaseOptions } from './provider-options.js';
