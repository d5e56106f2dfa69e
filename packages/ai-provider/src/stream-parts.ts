import type {
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import type { Finish, GenerateEvent } from '@markbase/text';

/** Turns the engine's events into the parts of a stream: text and reasoning in blocks with ids. */
export class StreamParts {
  #open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | null = null;
  #blocks = 0;

  /** The parts for an event. */
  push(event: GenerateEvent): LanguageModelV3StreamPart[] {
    switch (event.type) {
      case 'token':
        return [];
      case 'text':
      case 'reasoning':
        return this.#addText(event.type, event.text);
      case 'tool-call': {
        const { id, name, argumentsJson: input } = event;
        return [
          ...this.#close(),
          { type: 'tool-input-start', id, toolName: name },
          { type: 'tool-input-delta', id, delta: input },
          { type: 'tool-input-end', id },
          { type: 'tool-call', toolCallId: id, toolName: name, input },
        ];
      }
      case 'finish':
        return [
          ...this.#close(),
          {
            type: 'finish',
            usage: usageOf(event),
            finishReason: finishReasonOf(event),
            providerMetadata: metadataOf(event),
          },
        ];
    }
  }

  #addText(kind: 'text' | 'reasoning', delta: string): LanguageModelV3StreamPart[] {
    const parts: LanguageModelV3StreamPart[] = [];
    if (this.#open?.kind !== kind) {
      parts.push(...this.#close());
      this.#open = { kind, id: `${kind}-${this.#blocks++}` };
      parts.push({ type: `${kind}-start`, id: this.#open.id });
    }
    parts.push({ type: `${kind}-delta`, id: this.#open!.id, delta });
    return parts;
  }

  #close(): LanguageModelV3StreamPart[] {
    const open = this.#open;
    this.#open = null;
    return open ? [{ type: `${open.kind}-end`, id: open.id }] : [];
  }
}

/** Token usage of an answer. */
export function usageOf({ usage }: Pick<Finish, 'usage'>): LanguageModelV3Usage {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage;
  return {
    inputTokens: {
      total: promptTokens,
      noCache: promptTokens - cachedTokens,
      cacheRead: cachedTokens,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: completionTokens,
      text: completionTokens - reasoningTokens,
      reasoning: reasoningTokens,
    },
  };
}

/** Why an answer ended. */
export function finishReasonOf({
  reason,
  stop,
}: Pick<Finish, 'reason' | 'stop'>): LanguageModelV3FinishReason {
  return { unified: reason, raw: stop === null ? reason : `stop: ${stop}` };
}

/** Results that the AI SDK has no fields for. */
export function metadataOf({ seed, timings }: Pick<Finish, 'seed' | 'timings'>): {
  markbase: { seed: number; firstTokenMs: number; totalMs: number };
} {
  return { markbase: { seed, ...timings } };
}
