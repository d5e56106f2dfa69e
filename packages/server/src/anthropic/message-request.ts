import { z } from 'zod';
import { jsonObject, jsonSchema, optional } from '../chat/chat-request.js';

/** Prompts are always cached, so a client's caching hints are accepted and have no effect. */
const cache_control = optional(
  z.strictObject({ type: z.literal('ephemeral'), ttl: optional(z.enum(['5m', '1h'])) }),
);

const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  cache_control,
  citations: optional(z.array(z.unknown()).max(0)),
});

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
  cache_control,
});

const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: optional(z.union([z.string(), z.array(text)])),
  is_error: optional(z.boolean()),
  cache_control,
});

const thinking = z.strictObject({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: optional(z.string()),
});

const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image, toolResult])).min(1)]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, toolUse, thinking]))]),
  }),
]);

const tool = z.strictObject({
  type: optional(z.literal('custom')),
  name: z.string(),
  description: optional(z.string()),
  input_schema: jsonSchema,
  strict: optional(z.boolean()),
  cache_control,
});

const disable_parallel_tool_use = optional(z.boolean());

const promptFields = {
  model: z.string(),
  messages: z.array(message).min(1),
  system: optional(z.union([z.string(), z.array(text)])),
  tools: optional(z.array(tool)),
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
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1) }),
      z.strictObject({ type: z.literal('adaptive') }),
      z.strictObject({ type: z.literal('disabled') }),
    ]),
  ),
  output_config: optional(
    z.strictObject({
      format: optional(z.strictObject({ type: z.literal('json_schema'), schema: jsonSchema })),
    }),
  ),
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
  metadata: optional(z.strictObject({ user_id: optional(z.string()) })),
  service_tier: optional(z.enum(['auto', 'standard_only'])),
});

/** A checked body of `POST /v1/messages`. */
export type MessageRequest = z.output<typeof messageRequest>;
/** The fields that make up the prompt of a message. */
export type PromptRequest = z.output<typeof countTokensRequest>;
