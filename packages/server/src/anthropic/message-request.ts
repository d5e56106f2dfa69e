import { z } from 'zod';
import { hint, jsonObject, jsonSchema, optional, runnableTools } from '../chat/chat-request.js';

/** Prompts are cached automatically; what clients request has no effect. */
const cache_control = hint;

const text = z.strictObject({ type: z.literal('text'), text: z.string(), cache_control, citations: hint });

const image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.strictObject({ type: z.literal('url'), url: z.string() }),
  ]),
  cache_control,
});

const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: jsonObject,
  caller: hint,
  cache_control,
});

const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: optional(z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image]))])),
  is_error: optional(z.boolean()),
  cache_control,
});

const thinking = z.strictObject({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: optional(z.string()),
  cache_control,
});

/** Only the server that wrote it can read it. */
const redactedThinking = z.strictObject({
  type: z.literal('redacted_thinking'),
  data: z.string(),
  cache_control,
});

const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image, toolResult])).min(1)]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([
      z.string(),
      z.array(z.discriminatedUnion('type', [text, toolUse, thinking, redactedThinking])),
    ]),
  }),
  z.strictObject({ role: z.literal('system'), content: z.union([z.string(), z.array(text)]) }),
]);

const customTool = z.strictObject({
  type: optional(z.literal('custom')),
  name: z.string(),
  description: optional(z.string()),
  input_schema: jsonSchema,
  strict: optional(z.boolean()),
  cache_control,
  eager_input_streaming: hint,
  defer_loading: hint,
  allowed_callers: hint,
  input_examples: hint,
});

const disable_parallel_tool_use = optional(z.boolean());
const display = optional(z.enum(['summarized', 'omitted']));

const promptFields = {
  model: z.string(),
  messages: z.array(message).min(1),
  system: optional(z.union([z.string(), z.array(text)])),
  tools: optional(runnableTools(customTool, 'custom')),
  tool_choice: optional(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), disable_parallel_tool_use }),
      z.strictObject({ type: z.literal('any'), disable_parallel_tool_use }),
      z.strictObject({ type: z.literal('tool'), name: z.string(), disable_parallel_tool_use }),
      z.strictObject({ type: z.literal('none') }),
    ]),
  ),
  thinking: optional(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1), display }),
      z.strictObject({ type: z.literal('adaptive'), display }),
      z.strictObject({ type: z.literal('disabled') }),
    ]),
  ),
  output_config: optional(
    z.strictObject({
      format: optional(z.strictObject({ type: z.literal('json_schema'), schema: jsonSchema })),
      effort: hint,
      task_budget: hint,
    }),
  ),
  cache_control,
  context_management: hint,
  speed: hint,
};

/** Body of `POST /v1/messages/count_tokens`. */
export const countTokensRequest = z.strictObject(promptFields);

/** Body of `POST /v1/messages`. */
export const messageRequest = z.strictObject({
  ...promptFields,
  max_tokens: z.int().min(1),
  stop_sequences: optional(z.array(z.string().min(1)).max(16)),
  stream: optional(z.boolean()),
  temperature: optional(z.number().min(0).max(1)),
  top_p: optional(z.number().gt(0).max(1)),
  top_k: optional(z.int().min(0)),
  metadata: optional(z.looseObject({ user_id: optional(z.string()) })),
  service_tier: optional(z.string()),
  inference_geo: hint,
});

/** A checked body of `POST /v1/messages`. */
export type MessageRequest = z.output<typeof messageRequest>;
/** The part of a message request that makes up the prompt. */
export type PromptRequest = z.output<typeof countTokensRequest>;
