import { z } from 'zod';

/** A parameter that may be omitted or null. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish();
}

const text = z.strictObject({ type: z.literal('text'), text: z.string() });

const imageUrl = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({
    url: z.string(),
    detail: optional(z.enum(['auto', 'low', 'high'])),
    max_soft_tokens: optional(z.union([70, 140, 280, 560, 1120].map((budget) => z.literal(budget)))),
  }),
});

const inputAudio = z.strictObject({
  type: z.literal('input_audio'),
  input_audio: z.strictObject({ data: z.string(), format: z.string() }),
});

const videoUrl = z.strictObject({
  type: z.literal('video_url'),
  video_url: z.strictObject({ url: z.string() }),
});

const userPart = z.discriminatedUnion('type', [text, imageUrl, inputAudio, videoUrl]);
const textContent = z.union([z.string(), z.array(text)]);
/** The official client adds this to messages that it sends back: a parsed copy of the text. */
const parsed = optional(z.unknown());

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string(), parsed_arguments: parsed }),
});

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: textContent }),
  z.strictObject({ role: z.literal('developer'), content: textContent }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(userPart)]) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: optional(textContent),
    reasoning_content: optional(z.string()),
    reasoning: optional(z.string()),
    refusal: optional(z.string()),
    tool_calls: optional(z.array(toolCall)),
    parsed,
    annotations: optional(z.array(z.unknown()).max(0)),
    audio: optional(z.never()),
    function_call: optional(z.never()),
  }),
  z.strictObject({
    role: z.literal('tool'),
    content: textContent,
    tool_call_id: z.string(),
    name: optional(z.string()),
  }),
]);

/** An object that is passed on unchanged; `exactValue` returns its numbers digit by digit. */
export const jsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);

/** A JSON schema. The engine checks its keywords. */
export const jsonSchema = z.record(z.string(), z.unknown());

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    description: optional(z.string()),
    parameters: optional(jsonSchema),
    strict: optional(z.boolean()),
  }),
});

const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
]);

const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.string(),
      description: optional(z.string()),
      schema: jsonSchema,
      strict: optional(z.boolean()),
    }),
  }),
]);

/** How much the model may think, in OpenAI's terms. */
export const reasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);

/** Sampling parameters, the same in chat and plain completions. The last three are extensions. */
export const samplingFields = {
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().gt(0).max(1)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  seed: optional(z.int()),
  stop: optional(z.union([z.string().min(1), z.array(z.string().min(1)).max(16)])),
  logit_bias: optional(z.record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100))),
  top_k: optional(z.int().min(0)),
  min_p: optional(z.number().min(0).lt(1)),
  repetition_penalty: optional(z.number().gt(0)),
};

/** Parameters that have no effect here, limited to the values for which that is true. */
export const harmlessFields = {
  user: optional(z.string()),
  safety_identifier: optional(z.string()),
  prompt_cache_key: optional(z.string()),
  metadata: optional(z.record(z.string(), z.string())),
  store: optional(z.literal(false)),
  service_tier: optional(z.enum(['auto', 'default'])),
};

/** Body of `POST /v1/chat/completions`. */
export const chatRequest = z.strictObject({
  model: z.string(),
  messages: z.array(message).min(1),
  max_completion_tokens: optional(z.int().min(1)),
  max_tokens: optional(z.int().min(1)),
  n: optional(z.int().min(1)),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(z.int().min(0).max(20)),
  stream: optional(z.boolean()),
  stream_options: optional(
    z.strictObject({ include_usage: optional(z.boolean()), include_obfuscation: optional(z.literal(false)) }),
  ),
  tools: optional(z.array(tool)),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(responseFormat),
  reasoning_effort: optional(reasoningEffort),
  modalities: optional(z.array(z.literal('text'))),
  chat_template_kwargs: optional(
    z.strictObject({ enable_thinking: optional(z.boolean()), preserve_thinking: optional(z.boolean()) }),
  ),
  ...samplingFields,
  ...harmlessFields,
});

/** A checked body of `POST /v1/chat/completions`. */
export type ChatRequest = z.output<typeof chatRequest>;
