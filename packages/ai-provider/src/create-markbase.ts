import { NoSuchModelError, type ProviderV3 } from '@ai-sdk/provider';
import { openDevice } from '@markbase/metal-runtime';
import { loadTextModel, type TextModel } from '@markbase/text';
import { type LoadedModel, MarkbaseLanguageModel } from './markbase-language-model.js';

/** Options of `createMarkbase`. */
export interface MarkbaseProviderSettings {
  /** Loaded models, by the names that `markbase(name)` accepts. The caller disposes them. */
  readonly models?: Readonly<Record<string, TextModel | LoadedModel>>;
  /**
   * Loads a model with any other name, once, on first use; default: none. The caller disposes the models that it loads.
   */
  readonly load?: (modelId: string) => Promise<TextModel | LoadedModel>;
}

/** A provider of the AI SDK: `markbase(name)` is a language model. */
export interface MarkbaseProvider extends ProviderV3 {
  (modelId: string): MarkbaseLanguageModel;
  /**
   * The language model of this name.
   *
   * @throws NoSuchModelError
   */
  languageModel(modelId: string): MarkbaseLanguageModel;
}

/**
 * Creates a provider for models in this process.
 *
 * @throws NoSuchModelError (from `languageModel`) for a name that it neither has nor can load
 */
export function createMarkbase({ models = {}, load }: MarkbaseProviderSettings = {}): MarkbaseProvider {
  const loading = new Map<string, Promise<LoadedModel>>();
  const once = (modelId: string): Promise<LoadedModel> => {
    const known = loading.get(modelId);
    if (known) return known;
    const started = load!(modelId).then(asLoaded);
    loading.set(modelId, started);
    // Do not keep a failure: a missing folder may appear later.
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

/**
 * A provider with folders of checkpoints as names: they are loaded onto the best device on first use, and stay loaded.
 */
export const markbase: MarkbaseProvider = /* @__PURE__ */ createMarkbase({
  load: async (directory) =>
    loadTextModel(directory, await openDevice({ kind: 'auto' }), { maxSequences: 4 }),
});

function asLoaded(model: TextModel | LoadedModel): LoadedModel {
  return 'model' in model ? model : { model };
}
