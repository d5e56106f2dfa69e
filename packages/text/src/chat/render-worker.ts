import { parentPort, workerData } from 'node:worker_threads';
import { ChatTemplate } from './chat-template.js';
import { ChatTemplateError } from './chat-template-error.js';
import { parseExactJson } from './exact-json.js';
import type { RenderRequest, RenderResult } from './render-beside.js';
import type { TemplateInput } from './template-input.js';

const { source, path, bosToken, eosToken, input } = workerData as RenderRequest;

function result(): RenderResult {
  try {
    const template = new ChatTemplate(source, { path, bosToken, eosToken });
    return { text: template.render(parseExactJson(input) as TemplateInput) };
  } catch (error) {
    if (error instanceof ChatTemplateError) return { reason: error.reason };
    throw error;
  }
}

parentPort?.postMessage(result());
