import type { LanguageModelV3CallOptions, SharedV3Warning } from '@ai-sdk/provider';
import type { GenerateOptions, JsonSchema, ToolDefinition } from '@markbase/text';
import { engineOptions, type MarkbaseOptions } from './provider-options.js';

/** A call's settings as engine options, and warnings about unsupported ones. */
export interface ConvertedSettings {
  readonly options: Partial<GenerateOptions>;
  readonly warnings: SharedV3Warning[];
}

/** Converts everything but the prompt. Omitted settings keep the checkpoint's recommended values. */
export function convertSettings(call: LanguageModelV3CallOptions, own: MarkbaseOptions): ConvertedSettings {
  const warnings: SharedV3Warning[] = [];
  const tools: ToolDefinition[] = [];
  for (const tool of call.tools ?? []) {
    if (tool.type === 'provider') {
      warnings.push({
        type: 'unsupported',
        feature: `tool ${tool.id}`,
        details: 'The model runs in this process',
      });
      continue;
    }
    const { name, description, inputSchema, strict } = tool;
    const parameters = inputSchema as Readonly<Record<string, unknown>>;
    tools.push({ type: 'function', function: { name, description, parameters, strict } });
  }
  if (call.includeRawChunks) warnings.push({ type: 'unsupported', feature: 'includeRawChunks' });
  if (
    Object.values(call.headers ?? {}).some((value) => value !== undefined && !/^ai(?:-sdk)?\//.test(value))
  ) {
    warnings.push({
      type: 'unsupported',
      feature: 'headers',
      details: 'No request is sent: the model runs in this process',
    });
  }
  const options = {
    maxTokens: call.maxOutputTokens,
    temperature: call.temperature,
    topP: call.topP,
    topK: call.topK,
    presencePenalty: call.presencePenalty,
    frequencyPenalty: call.frequencyPenalty,
    stop: call.stopSequences,
    seed: call.seed,
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: toolChoiceOf(call.toolChoice),
    responseFormat: responseFormatOf(call.responseFormat),
    ...engineOptions(own),
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { options: Object.fromEntries(given) as Partial<GenerateOptions>, warnings };
}

function toolChoiceOf(choice: LanguageModelV3CallOptions['toolChoice']): GenerateOptions['toolChoice'] {
  return choice?.type === 'tool' ? { name: choice.toolName } : choice?.type;
}

function responseFormatOf(
  format: LanguageModelV3CallOptions['responseFormat'],
): GenerateOptions['responseFormat'] {
  if (format?.type !== 'json') return undefined;
  return format.schema ? { schema: format.schema as JsonSchema } : 'json';
}
