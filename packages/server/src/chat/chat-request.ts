import { z } from 'zod';

/** A parameter that may be omitted or null. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish();
}

/** A field that has no effect, whatever its value; the README lists them. */
export const hint = z.unknown().optional();

const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  cache_control: hint,
  prompt_cache_breakpoint: hint,
});

/** How much detail of an image the model should see. */
export const imageDetail = z.enum(['auto', 'low', 'high', 'original']);

const imageUrl = z.strictObject({
  type: z.literal('image_url'),
  cache_control: hint,
  image_url: z.strictObject({
    url: z.string(),
    detail: optional(imageDetail),
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
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });
const assistantContent = z.union([z.string(), z.array(z.discriminatedUnion('type', [text, refusal]))]);
/** Images in tool results are an extension. */
const resultContent = z.union([z.string(), z.array(userPart)]);
/** The official client adds this to messages that it sends back: a parsed copy of the text. */
const parsed = optional(z.unknown());

const toolCall = z.discriminatedUnion('type', [
  z.strictObject({
    id: z.string(),
    type: z.literal('function'),
    function: z.strictObject({ name: z.string(), arguments: z.string(), parsed_arguments: parsed }),
    extra_content: hint,
    index: hint,
  }),
  z.strictObject({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.strictObject({ name: z.string(), input: z.string() }),
  }),
]);

/** Which of several speakers said it; the prompt has no place for that. */
const named = { name: optional(z.string()), cache_control: hint };

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: textContent, ...named }),
  z.strictObject({ role: z.literal('developer'), content: textContent, ...named }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(userPart)]), ...named }),
  z.strictObject({
    role: z.literal('assistant'),
    content: optional(assistantContent),
    reasoning_content: optional(z.string()),
    reasoning: optional(z.string()),
    refusal: optional(z.string()),
    tool_calls: optional(z.array(toolCall)),
    parsed,
    annotations: hint,
    ...named,
  }),
  z.strictObject({
    role: z.literal('tool'),
    content: resultContent,
    tool_call_id: z.string(),
    ...named,
  }),
]);

/** An object that is passed on unchanged; `exactValue` returns its numbers digit by digit. */
export const jsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);

/** Whether the model may, must not or must call tools. */
export const toolMode = z.enum(['auto', 'none', 'required']);

/** A JSON schema. The engine checks its keywords. */
export const jsonSchema = z.record(z.string(), z.unknown());

const functionTool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    description: optional(z.string()),
    parameters: optional(jsonSchema),
    strict: optional(z.boolean()),
  }),
  cache_control: hint,
});

/** Tools of a request; null for those that run at a provider or take no JSON, which are left out of the prompt. */
export function runnableTools<Schema extends z.ZodType>(schema: Schema, type: string) {
  const isForeign = (tool: unknown) => {
    const given = typeof tool === 'object' && tool !== null && 'type' in tool ? tool.type : undefined;
    return typeof given === 'string' && given !== type;
  };
  return z.array(z.preprocess((tool) => (isForeign(tool) ? null : tool), schema.nullable()));
}

const functionChoice = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({ name: z.string() }),
});

const toolChoice = z.union([
  toolMode,
  functionChoice,
  z.strictObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z.strictObject({
      mode: z.enum(['auto', 'required']),
      tools: z.array(functionChoice).min(1),
    }),
  }),
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
export const reasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

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
  prompt_cache_retention: hint,
  metadata: optional(z.record(z.string(), z.string())),
  store: optional(z.literal(false)),
  service_tier: optional(z.string()),
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
    z.strictObject({ include_usage: optional(z.boolean()), include_obfuscation: hint }),
  ),
  tools: optional(runnableTools(functionTool, 'function')),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(responseFormat),
  reasoning_effort: optional(reasoningEffort),
  modalities: optional(z.array(z.literal('text'))),
  verbosity: optional(z.enum(['low', 'medium', 'high'])),
  prediction: optional(
    z.strictObject({
      type: z.literal('content'),
      content: z.union([z.string(), z.array(z.strictObject({ type: z.literal('text'), text: z.string() }))]),
    }),
  ),
  web_search_options: hint,
  chat_template_kwargs: optional(
    z.strictObject({ enable_thinking: optional(z.boolean()), preserve_thinking: optional(z.boolean()) }),
  ),
  ...samplingFields,
  ...harmlessFields,
});

/** A checked body of `POST /v1/chat/completions`. */
export type ChatRequest = z.output<typeof chatRequest>;
