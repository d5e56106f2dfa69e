import { z } from 'zod';
import { jsonSchema, optional, reasoningEffort, samplingFields } from '../chat/chat-request.js';

const inputText = z.strictObject({ type: z.literal('input_text'), text: z.string() });
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: z.string(),
  detail: optional(z.enum(['auto', 'low', 'high'])),
});
const inputAudio = z.strictObject({
  type: z.literal('input_audio'),
  input_audio: z.strictObject({ data: z.string(), format: z.string() }),
});
const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: optional(z.array(z.unknown()).max(0)),
  logprobs: optional(z.array(z.unknown())),
});
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });

const part = z.discriminatedUnion('type', [inputText, inputImage, inputAudio, outputText, refusal]);
const status = optional(z.enum(['in_progress', 'completed', 'incomplete']));
const id = optional(z.string());

const message = z.strictObject({
  type: optional(z.literal('message')),
  id,
  status,
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), z.array(part)]),
});

const items = [
  z.strictObject({
    type: z.literal('function_call'),
    id,
    status,
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    id,
    status,
    call_id: z.string(),
    output: z.union([z.string(), z.array(inputText)]),
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id,
    status,
    summary: optional(z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() }))),
    content: optional(z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() }))),
    encrypted_content: optional(z.literal('')),
  }),
] as const;

/** One item of the input: a message, a tool call, its result, or what the model thought. */
const inputItem = z.preprocess(
  // The type of a message may be omitted.
  (value) => (isObject(value) && !('type' in value) ? { ...value, type: 'message' } : value),
  z.discriminatedUnion('type', [message.extend({ type: z.literal('message') }), ...items]),
);

const tool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: optional(z.string()),
  parameters: optional(jsonSchema),
  strict: optional(z.boolean()),
});

const textFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: optional(z.string()),
    schema: jsonSchema,
    strict: optional(z.boolean()),
  }),
]);

const { seed, top_k, min_p, repetition_penalty, temperature, top_p } = samplingFields;

/** Body of `POST /v1/responses`. */
export const responseRequest = z.strictObject({
  model: z.string(),
  input: z.union([z.string(), z.array(inputItem).min(1)]),
  instructions: optional(z.string()),
  max_output_tokens: optional(z.int().min(1)),
  stream: optional(z.boolean()),
  stream_options: optional(z.strictObject({ include_obfuscation: optional(z.literal(false)) })),
  tools: optional(z.array(tool)),
  tool_choice: optional(
    z.union([
      z.enum(['auto', 'none', 'required']),
      z.strictObject({ type: z.literal('function'), name: z.string() }),
    ]),
  ),
  parallel_tool_calls: optional(z.boolean()),
  reasoning: optional(z.strictObject({ effort: optional(reasoningEffort) })),
  text: optional(z.strictObject({ format: optional(textFormat) })),
  include: optional(z.array(z.literal('message.output_text.logprobs'))),
  top_logprobs: optional(z.int().min(0).max(20)),
  temperature,
  top_p,
  seed,
  top_k,
  min_p,
  repetition_penalty,
  background: optional(z.literal(false)),
  truncation: optional(z.literal('disabled')),
  store: optional(z.literal(false)),
  service_tier: optional(z.enum(['auto', 'default'])),
  user: optional(z.string()),
  safety_identifier: optional(z.string()),
  prompt_cache_key: optional(z.string()),
  metadata: optional(z.record(z.string(), z.string())),
});

/** A checked body of `POST /v1/responses`. */
export type ResponseRequest = z.output<typeof responseRequest>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
