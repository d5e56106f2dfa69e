import { z } from 'zod';
import {
  hint,
  imageDetail,
  jsonSchema,
  optional,
  reasoningEffort,
  runnableTools,
  samplingFields,
  toolMode,
} from '../chat/chat-request.js';

const inputText = z.strictObject({
  type: z.literal('input_text'),
  text: z.string(),
  prompt_cache_breakpoint: hint,
});
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: z.string(),
  detail: optional(imageDetail),
  prompt_cache_breakpoint: hint,
});
const inputAudio = z.strictObject({
  type: z.literal('input_audio'),
  input_audio: z.strictObject({ data: z.string(), format: z.string() }),
});
const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: hint,
  logprobs: hint,
});
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });

const part = z.discriminatedUnion('type', [inputText, inputImage, inputAudio, outputText, refusal]);
const output = z.union([z.string(), z.array(z.discriminatedUnion('type', [inputText, inputImage]))]);

/** Fields of items that the prompt has no place for. */
const item = {
  id: optional(z.string()),
  status: optional(z.enum(['in_progress', 'completed', 'incomplete'])),
  phase: hint,
  caller: hint,
  internal_chat_message_metadata_passthrough: hint,
};

const message = z.strictObject({
  ...item,
  type: z.literal('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), z.array(part)]),
});

const functionCall = z.strictObject({
  ...item,
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  namespace: hint,
  arguments: z.string(),
});

/** A call of a tool with text as input; only other servers write these. */
const customCall = z.strictObject({
  ...item,
  type: z.literal('custom_tool_call'),
  call_id: z.string(),
  name: z.string(),
  namespace: hint,
  input: z.string(),
});

const result = { ...item, call_id: z.string(), name: hint, output };

const reasoning = z.strictObject({
  ...item,
  type: z.literal('reasoning'),
  summary: optional(z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() }))),
  content: optional(z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() }))),
  // Only the server that wrote it can read it.
  encrypted_content: hint,
});

/** What a provider's tools did; left out, like the tools. */
const FOREIGN_ITEMS = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
] as const;

/** One item of the input: a message, a tool call, its result, or what the model thought. */
const inputItem = z.preprocess(
  // The type of a message may be omitted.
  (value) => (isObject(value) && !('type' in value) ? { ...value, type: 'message' } : value),
  z.discriminatedUnion('type', [
    message,
    functionCall,
    customCall,
    z.strictObject({ ...result, type: z.literal('function_call_output') }),
    z.strictObject({ ...result, type: z.literal('custom_tool_call_output') }),
    reasoning,
    z.looseObject({ type: z.enum(FOREIGN_ITEMS) }),
  ]),
);

const tool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: optional(z.string()),
  parameters: optional(jsonSchema),
  strict: optional(z.boolean()),
  output_schema: hint,
  defer_loading: hint,
});

const functionChoice = z.strictObject({ type: z.literal('function'), name: z.string() });

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
  stream_options: optional(z.strictObject({ include_obfuscation: hint })),
  tools: optional(runnableTools(tool, 'function')),
  tool_choice: optional(
    z.union([
      toolMode,
      functionChoice,
      z.strictObject({
        type: z.literal('allowed_tools'),
        mode: z.enum(['auto', 'required']),
        tools: z.array(functionChoice).min(1),
      }),
    ]),
  ),
  parallel_tool_calls: optional(z.boolean()),
  reasoning: optional(
    z.strictObject({
      effort: optional(reasoningEffort),
      summary: hint,
      generate_summary: hint,
      context: hint,
      mode: hint,
    }),
  ),
  text: optional(
    z.strictObject({ format: optional(textFormat), verbosity: optional(z.enum(['low', 'medium', 'high'])) }),
  ),
  include: optional(z.array(z.string())),
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
  service_tier: optional(z.string()),
  user: optional(z.string()),
  safety_identifier: optional(z.string()),
  prompt_cache_key: optional(z.string()),
  prompt_cache_retention: hint,
  prompt_cache_options: hint,
  metadata: optional(z.record(z.string(), z.string())),
  client_metadata: hint,
  context_management: hint,
  max_tool_calls: hint,
});

/** A checked body of `POST /v1/responses`. */
export type ResponseRequest = z.output<typeof responseRequest>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
