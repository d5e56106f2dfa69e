import { checkOptionNames, DisposedError, LimitExceededError } from '@markbase/core';
import type { Device } from '@markbase/metal-runtime';
import {
  type GenerateEvent,
  type GenerateOptions,
  type GenerateResult,
  generate,
  generateBatch,
  openAnswer,
  stream,
  type TextModel,
} from '@markbase/text';
import type {
  AnswerOptions,
  RunToolsOptions,
  RunToolsResult,
  ValueOptions,
  ValueResult,
} from './answer-options.js';
import { encodeMessages } from './media/encode-messages.js';
import type { MediaEncoders } from './media/media-encoders.js';
import { type MediaSource, mediaInput } from './media/media-source.js';
import { type Input, type Message, messagesOf } from './media/message.js';
import { checkedValue, jsonSchemaOf } from './schema/answer-schema.js';
import { InvalidAnswerError } from './schema/invalid-answer-error.js';
import { messagesAbout, runCalls, type ToolRun } from './tools/run-calls.js';
import { prepareTools } from './tools/tool.js';
import { transcribeSegments } from './transcription/transcribe-segments.js';
import {
  TRANSCRIBE_OPTIONS,
  type TranscribeOptions,
  type Transcription,
} from './transcription/transcription.js';
import {
  TRANSCRIPTION_MAX_TOKENS,
  transcriptionInstruction,
} from './transcription/transcription-instruction.js';

const DEFAULT_MAX_ROUNDS = 8;
const DEFAULT_QUESTION = 'Describe the image.';

/**
 * A model that answers questions about text, pictures, video and sound. Created by `load`.
 *
 * Calls may overlap: they share the steps of the model, as many answers at once as `maxSequences` says.
 */
export class GemmaModel implements Disposable, AsyncDisposable {
  /** The decoder, for everything that @markbase/text can do. */
  readonly text: TextModel;
  /** The encoders of pictures and sound, loaded when they are first needed. */
  readonly media: MediaEncoders;
  readonly #ownDevice: Device | null;
  #isDisposed = false;

  /** Joins loaded parts; `load` loads them. `ownDevice` is disposed with the model. */
  constructor(parts: { text: TextModel; media: MediaEncoders; ownDevice: Device | null }) {
    this.text = parts.text;
    this.media = parts.media;
    this.#ownDevice = parts.ownDevice;
  }

  /** The device that the model runs on. */
  get device(): Device {
    return this.text.device;
  }

  /**
   * Answers a question; returns the complete answer, with a `schema` also as a value.
   *
   * @throws ContextLengthError for a prompt that does not fit; the errors of the encoders; InvalidArgumentError for
   *   options out of range and for schemas that answers cannot be constrained to; InvalidAnswerError if the schema has
   *   checks beyond its JSON Schema and the answer fails one; the signal's reason when aborted
   */
  generate<Value>(input: Input, options: ValueOptions<Value>): Promise<ValueResult<Value>>;
  generate(input: Input, options?: AnswerOptions): Promise<GenerateResult>;
  async generate(
    input: Input,
    { schema, ...others }: AnswerOptions & Partial<ValueOptions<unknown>> = {},
  ): Promise<GenerateResult | ValueResult<unknown>> {
    if (schema === undefined) return generate(this.text, await this.#request(input, others));
    const responseFormat = { schema: jsonSchemaOf(schema, 'schema') };
    const answer = await generate(this.text, await this.#request(input, { ...others, responseFormat }));
    const checked = await checkedValue(schema, JSON.parse(answer.text));
    if ('problem' in checked) throw new InvalidAnswerError({ text: answer.text, ...checked });
    return { ...answer, value: checked.value };
  }

  /** Answers a question; yields events as they happen and ends with `finish`. Errors: those of `generate`. */
  async *stream(input: Input, options: AnswerOptions = {}): AsyncGenerator<GenerateEvent, void, void> {
    yield* stream(this.text, await this.#request(input, options));
  }

  /**
   * Answers several questions at once, with the same options; returns the answers in the order of the questions. As
   * many as `maxSequences` run together. Errors: those of `generate`.
   */
  async generateBatch(inputs: readonly Input[], options: AnswerOptions = {}): Promise<GenerateResult[]> {
    const { signal, onPrefill } = options;
    const requests = await this.#requests(inputs, options);
    return generateBatch(this.text, requests, { ...(signal && { signal }), ...(onPrefill && { onPrefill }) });
  }

  /**
   * Answers with the help of tools: runs the calls that the model makes, tells it the results, and repeats that until
   * it answers. Calls of one answer run at the same time; what a tool throws is told to the model.
   *
   * @throws LimitExceededError after `maxRounds` answers with calls; the errors of `generate`
   */
  async runTools(input: Input, options: RunToolsOptions): Promise<RunToolsResult> {
    const { tools: given, maxRounds = DEFAULT_MAX_ROUNDS, ...others } = options;
    const tools = prepareTools(given);
    const definitions = [...tools.values()].map(({ definition }) => definition);
    const request = await this.#request(input, { ...others, tools: definitions });
    const messages: Message[] = [...request.messages!];
    const runs: ToolRun[] = [];
    for (let round = 0; ; round++) {
      const answer = await generate(this.text, {
        ...request,
        messages: messages as GenerateOptions['messages'],
        // A call that was required has been made.
        ...(round > 0 && { toolChoice: 'auto' as const }),
      });
      if (answer.toolCalls.length === 0) {
        const { text: content, reasoning } = answer;
        const last: Message = { role: 'assistant', content, ...(reasoning !== '' && { reasoning }) };
        return { ...answer, runs, messages: [...messages, last] };
      }
      if (round >= maxRounds) {
        throw new LimitExceededError({
          subject: 'the tool loop',
          limit: 'maxRounds',
          maximum: maxRounds,
          received: round + 1,
        });
      }
      const results = await runCalls(answer.toolCalls, tools, options.signal);
      runs.push(...results);
      messages.push(...messagesAbout(answer, results));
    }
  }

  /**
   * Answers a question about a picture; returns the text.
   *
   * @throws UnsupportedModelError if the model takes no pictures; the errors of `generate`
   */
  async describe(
    image: MediaSource,
    question: string = DEFAULT_QUESTION,
    options: AnswerOptions = {},
  ): Promise<string> {
    return (await this.generate([{ image }, question], options)).text;
  }

  /**
   * Writes down what is said in a recording. Sounds of more than 30 s are cut at quiet places; memory use does not
   * depend on the length.
   *
   * @throws UnsupportedModelError if the model takes no sound; the errors of `AudioModel.encodeEach`
   */
  async transcribe(recording: MediaSource, options: TranscribeOptions = {}): Promise<Transcription> {
    this.#check('transcribe');
    checkOptionNames(options, TRANSCRIBE_OPTIONS);
    const {
      language,
      prompt,
      maxTokens = TRANSCRIPTION_MAX_TOKENS,
      temperature,
      onSegment,
      signal,
    } = options;
    const audio = await this.media.audio();
    const source = await mediaInput(recording, signal);
    const segments = [];
    for await (const segment of transcribeSegments(this.text, audio, source, {
      instruction: transcriptionInstruction({ language, prompt }),
      maxTokens,
      ...(temperature !== undefined && { temperature }),
      ...(signal && { signal }),
    })) {
      segments.push(segment);
      onSegment?.(segment);
    }
    return { text: segments.map(({ text }) => text).join(' '), segments };
  }

  /**
   * Number of tokens of a prompt, including the soft tokens of its media, which are encoded for that, and the tokens of
   * the chat template.
   *
   * @throws ContextLengthError, which says the number, if the prompt does not fit into the context
   */
  async countTokens(input: Input, options: AnswerOptions = {}): Promise<number> {
    return (await openAnswer(this.text, await this.#request(input, options))).promptTokens;
  }

  /** Frees the weights, the caches and, if `load` opened it, the device. A second call does nothing. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.media.dispose();
    this.text.dispose();
    this.#ownDevice?.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
  }

  async #requests(inputs: readonly Input[], options: AnswerOptions): Promise<GenerateOptions[]> {
    const requests: GenerateOptions[] = [];
    for (const input of inputs) requests.push(await this.#request(input, options));
    return requests;
  }

  /** The options of @markbase/text, with encoded media. What earlier prompts have in common with this one is reused, bit for bit. */
  async #request(input: Input, { system, ...options }: AnswerOptions): Promise<GenerateOptions> {
    this.#check('generate');
    const given = messagesOf(input);
    const messages: readonly Message[] =
      system === undefined ? given : [{ role: 'system', content: system }, ...given];
    const { signal } = options;
    const context = { text: this.text, media: this.media, ...(signal && { signal }) };
    return { reusePrefix: 'exact', ...options, messages: await encodeMessages(messages, context) };
  }

  #check(operation: string): void {
    if (this.#isDisposed) throw new DisposedError({ resource: 'model', operation });
  }
}
