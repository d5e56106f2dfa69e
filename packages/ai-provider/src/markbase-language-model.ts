import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
  SharedV3Warning,
} from '@ai-sdk/provider';
import { type Finish, type MediaEncoder, type OpenAnswer, openAnswer, type TextModel } from '@markbase/text';
import { convertPrompt } from './convert-prompt.js';
import { convertSettings } from './convert-settings.js';
import { markbaseOptions } from './provider-options.js';
import { finishReasonOf, metadataOf, StreamParts, usageOf } from './stream-parts.js';

/** A loaded model and its media encoders. */
export interface LoadedModel {
  /** The text model that answers. */
  readonly model: TextModel;
  /** Encoders of images, sounds and videos. Files without an encoder are refused. */
  readonly media?: MediaEncoder;
}

/**
 * A model in this process as a language model of the AI SDK (specification V3). Concurrent calls share the engine's
 * steps; common prompt prefixes are computed once.
 */
export class MarkbaseLanguageModel implements LanguageModelV3 {
  readonly specificationVersion = 'v3';
  readonly provider = 'markbase';
  /** The name under which the provider knows the model. */
  readonly modelId: string;
  /** None: the AI SDK downloads files itself. */
  readonly supportedUrls = {};
  readonly #load: () => Promise<LoadedModel>;

  constructor(modelId: string, load: () => Promise<LoadedModel>) {
    this.modelId = modelId;
    this.#load = load;
  }

  /** Returns a complete answer. Errors: those of `openAnswer`; the signal's reason when aborted. */
  async doGenerate(call: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
    const { answer, warnings } = await this.#open(call, call.abortSignal);
    const content: LanguageModelV3Content[] = [];
    let finish: Finish | null = null;
    for await (const event of answer.events()) {
      if (event.type === 'finish') finish = event;
      else if (event.type === 'text' || event.type === 'reasoning') {
        const last = content.at(-1);
        if (last?.type === event.type)
          content[content.length - 1] = { ...last, text: last.text + event.text };
        else content.push({ type: event.type, text: event.text });
      } else if (event.type === 'tool-call') {
        const { id, name, argumentsJson: input } = event;
        content.push({ type: 'tool-call', toolCallId: id, toolName: name, input });
      }
    }
    return {
      content,
      finishReason: finishReasonOf(finish!),
      usage: usageOf(finish!),
      providerMetadata: metadataOf(finish!),
      response: { timestamp: new Date(), modelId: this.modelId },
      warnings,
    };
  }

  /** Streams an answer. Errors in the request are thrown; later ones become an error part. */
  async doStream(call: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> {
    const { abortSignal } = call;
    const control = new AbortController();
    // Not `AbortSignal.any`: Node never releases a composite signal that has had a listener.
    const follow = () => control.abort(abortSignal?.reason);
    if (abortSignal?.aborted) follow();
    abortSignal?.addEventListener('abort', follow, { once: true });
    const { answer, warnings } = await this.#open(call, control.signal);
    const { modelId } = this;
    let hasLeft = false;
    const stream = new ReadableStream<LanguageModelV3StreamPart>({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings });
        controller.enqueue({ type: 'response-metadata', timestamp: new Date(), modelId });
        // Not one part per pull: the engine's next step must not wait until this one has been read.
        void pump(answer, controller, () => hasLeft).finally(() =>
          abortSignal?.removeEventListener('abort', follow),
        );
      },
      cancel: (reason) => {
        hasLeft = true;
        control.abort(reason);
      },
    });
    return { stream };
  }

  async #open(
    call: LanguageModelV3CallOptions,
    signal: AbortSignal | undefined,
  ): Promise<{ answer: OpenAnswer; warnings: SharedV3Warning[] }> {
    const { model, media } = await this.#load();
    const own = markbaseOptions(call.providerOptions?.markbase);
    const { options, warnings } = convertSettings(call, own);
    const messages = await convertPrompt(call.prompt, {
      encoder: media,
      maxTokens: model.settings.contextTokens,
      ...(own.imageBudget !== undefined && { budget: own.imageBudget }),
      ...(signal && { signal }),
    });
    const request = { ...options, messages, reusePrefix: 'exact' as const, ...(signal && { signal }) };
    return { answer: await openAnswer(model, request), warnings };
  }
}

async function pump(
  answer: OpenAnswer,
  controller: ReadableStreamDefaultController<LanguageModelV3StreamPart>,
  hasLeft: () => boolean,
): Promise<void> {
  const parts = new StreamParts();
  try {
    for await (const event of answer.events()) for (const part of parts.push(event)) controller.enqueue(part);
    controller.close();
  } catch (error) {
    // Nobody reads the error of a cancelled stream.
    if (hasLeft()) return;
    controller.enqueue({ type: 'error', error });
    controller.close();
  }
}
