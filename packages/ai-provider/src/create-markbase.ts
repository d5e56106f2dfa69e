import { NoSuchModelError, type ProviderV3 } from '@ai-sdk/provider';
import { openDevice } from '@markbase/metal-runtime';
import { loadTextModel, type TextModel } from '@markbase/text';
import { type LoadedModel, MarkbaseLanguageModel } from './markbase-language-model.js';

/** Options of `createMarkbase`. */
export interface MarkbaseProviderSettings {
  /** Models that are loaded already, by the names that `markbase(name)` takes. They stay the caller's to dispose. */
  readonly models?: Readonly<Record<string, TextModel | LoadedModel>>;
  /**
   * Loads a model of another name, once, when it is first asked for; default: none. What it loads is the caller's to
   * dispose.
   */
  readonly load?: (modelId: string) => Promise<TextModel | LoadedModel>;
}

/** A provider of the AI SDK: `markbase(name)` is a language model. */
export interface MarkbaseProvider extends ProviderV3 {
  (modelId: string): MarkbaseLanguageModel;
  languageModel(modelId: string): MarkbaseLanguageModel;
}

/**
 * A provider over models of this process.
 *
 * @throws NoSuchModelError (by `languageModel`) for a name that it neither has nor can load
 */
export function createMarkbase({ models = {}, load }: MarkbaseProviderSettings = {}): MarkbaseProvider {
  const loading = new Map<string, Promise<LoadedModel>>();
  const once = (modelId: string): Promise<LoadedModel> => {
    const known = loading.get(modelId);
    if (known) return known;
    const started = load!(modelId).then(asLoaded);
    loading.set(modelId, started);
    // A failure, such as a folder that is not there yet, must not stick to the provider.
    started.catch(() => loading.delete(modelId));
    return started;
  };
  const languageModel = (modelId: string): MarkbaseLanguageModel => {
    const known = Object.hasOwn(models, modelId) ? models[modelId] : undefined;
    if (known) return new MarkbaseLanguageModel(modelId, async () => asLoaded(known));
    if (load) return new MarkbaseLanguageModel(modelId, () => once(modelId));
    throw new NoSuchModelError({ modelId, modelType: 'languageModel' });
  };
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: 'v3' as const,
    languageModel,
    embeddingModel: (modelId: string): never => {
      throw new NoSuchModelError({ modelId, modelType: 'embeddingModel' });
    },
    imageModel: (modelId: string): never => {
      throw new NoSuchModelError({ modelId, modelType: 'imageModel' });
    },
  });
}

/** A provider whose names are folders of checkpoints: they are loaded onto the best device when first asked for, and stay. */
export const markbase: MarkbaseProvider = /* @__PURE__ */ createMarkbase({
  load: async (directory) =>
    loadTextModel(directory, await openDevice({ kind: 'auto' }), { maxSequences: 4 }),
});

function asLoaded(model: TextModel | LoadedModel): LoadedModel {
  return 'model' in model ? model : { model };
}
