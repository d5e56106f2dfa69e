import { randomUUID } from 'node:crypto';
import { InvalidArgumentError } from '@markbase/core';
import { type ResponseEvent, ResponseParser, StopMatcher } from '../chat/index.js';
import { QUOTE } from '../chat/tool-value-reader.js';
import type { Choice } from '../engine/choice.js';
import type { Language } from '../language.js';
import type { FinishReason, GeneratedToken, GenerateEvent, TokenPart } from './events.js';
import type { TokenRun } from './token-run.js';

/** Options of `Answer`, besides its tokens. */
export interface AnswerOptions {
  readonly stop?: readonly string[];
  readonly logprobs?: boolean;
  readonly parallelToolCalls?: boolean;
  /** The prompt ends inside an open thought. */
  readonly isReasoningOpen: boolean;
  /** `performance.now()` at the time of the call. */
  readonly startMs: number;
}

/** Turns the tokens of a run into events, and stops the run at stop strings and at the end of the turn. */
export class Answer {
  readonly run: TokenRun;
  readonly #language: Language | null;
  readonly #parser: ResponseParser | null;
  readonly #stops: StopMatcher;
  readonly #reportsTokens: boolean;
  readonly #isSingleCall: boolean;
  readonly #startMs: number;
  #firstTokenMs: number | null = null;
  #hasToolCalls = false;
  #reasoningTokens = 0;

  constructor(run: TokenRun, language: Language | null, options: AnswerOptions) {
    const { isReasoningOpen, stop = [] } = options;
    if (!Array.isArray(stop)) {
      throw new InvalidArgumentError({ argument: 'stop', expected: 'a list of strings', received: stop });
    }
    this.run = run;
    this.#language = language;
    this.#parser = language && new ResponseParser(language.tokenizer, { isReasoningOpen });
    this.#stops = new StopMatcher(stop);
    this.#reportsTokens = options.logprobs ?? false;
    this.#isSingleCall = options.parallelToolCalls === false;
    this.#startMs = options.startMs;
  }

  /** Takes a token that the run has accepted. The events after the last token end with `finish`. */
  push(choice: Choice): GenerateEvent[] {
    this.#firstTokenMs ??= performance.now() - this.#startMs;
    const part = this.#partOf(choice.token);
    const events: GenerateEvent[] = this.#reportsTokens
      ? [{ type: 'token', ...this.#token(choice, part) }]
      : [];
    events.push(...this.#shown(this.#parse(choice.token)));
    const hasAllCalls = this.#isSingleCall && this.#hasToolCalls;
    if (this.#parser?.isEnded || this.#stops.stop !== null || hasAllCalls) this.run.stop();
    if (this.run.finish === null) return events;
    events.push(...this.#shown(this.#parser?.finish() ?? []), ...textEvents(this.#stops.flush()));
    events.push(this.#finish());
    return events;
  }

  /** The part that the next token belongs to. A quote token is part of a call, or text. */
  #partOf(token: number): TokenPart {
    if (!this.#parser || !this.#language) return 'text';
    const { part } = this.#parser;
    const { tokenizer } = this.#language;
    const isControl = tokenizer.isSpecial(token) && token !== tokenizer.idOf(QUOTE);
    return isControl ? 'control' : part;
  }

  #parse(token: number): readonly ResponseEvent[] {
    // A stop token that the caller chose may be ordinary text. Control tokens tell the parser how the turn ended.
    const isHidden = token === this.run.stopToken && !this.#language?.tokenizer.isSpecial(token);
    if (isHidden || !this.#parser) return [];
    const { part } = this.#parser;
    const events = this.#parser.push(token);
    if ([part, this.#parser.part].includes('reasoning')) this.#reasoningTokens++;
    return events;
  }

  /** Applies stop strings to text and assigns ids to calls. Nothing follows a stop string. */
  #shown(parsed: readonly ResponseEvent[]): GenerateEvent[] {
    const events: GenerateEvent[] = [];
    for (const event of parsed) {
      if (this.#stops.stop !== null) break;
      if (event.type === 'text') {
        events.push(...textEvents(this.#stops.push(event.text).text));
        continue;
      }
      events.push(...textEvents(this.#stops.flush()));
      if (event.type === 'tool-call') {
        this.#hasToolCalls = true;
        events.push({ ...event, id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}` });
      } else {
        events.push(event);
      }
    }
    return events;
  }

  #finish(): GenerateEvent {
    const { run } = this;
    return {
      type: 'finish',
      reason: this.#reason(),
      stop: this.#stops.stop,
      usage: {
        promptTokens: run.prompt.end,
        completionTokens: run.tokens.length,
        reasoningTokens: this.#reasoningTokens,
        cachedTokens: run.cachedTokens,
        acceptedTokens: run.acceptedTokens,
        rejectedTokens: run.rejectedTokens,
      },
      timings: { firstTokenMs: this.#firstTokenMs ?? 0, totalMs: performance.now() - this.#startMs },
      seed: run.settings.sampling.seed ?? 0,
      warnings: (this.#parser?.unreadableCalls ?? []).map(
        (call) => `a tool call could not be read and is part of the text: ${call}`,
      ),
    };
  }

  #reason(): FinishReason {
    if (this.run.finish === 'length' && this.#stops.stop === null) return 'length';
    return this.#hasToolCalls ? 'tool-calls' : 'stop';
  }

  #token({ token, logprob, topLogprobs }: Choice, part: TokenPart): GeneratedToken {
    const textOf = (id: number) => this.#language?.tokenizer.decode([id]) ?? '';
    return {
      part,
      token,
      text: textOf(token),
      logprob,
      topLogprobs: topLogprobs.map((entry) => ({ ...entry, text: textOf(entry.token) })),
    };
  }
}

function textEvents(text: string): GenerateEvent[] {
  return text === '' ? [] : [{ type: 'text', text }];
}
