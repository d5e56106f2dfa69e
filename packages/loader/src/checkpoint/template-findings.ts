import { readJson } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import type { Finding } from './finding.js';
import type { CheckpointFiles } from './locate-files.js';

/** Reports several chat templates in tokenizer_config.json of which none is the default: the first one is used. */
export async function templateFindings(files: CheckpointFiles): Promise<Finding[]> {
  const { chatTemplate, chatTemplateJson, tokenizerConfig: path } = files;
  if (chatTemplate !== null || chatTemplateJson !== null || path === null) return [];
  // A file that cannot be read is reported when the tokenizer is loaded.
  const config: unknown = await readJson(path, MAX_CONFIG_BYTES).catch(() => null);
  const templates: unknown = Object(config).chat_template;
  if (!Array.isArray(templates) || templates.length < 2) return [];
  const names = templates.map((entry: unknown) => String(Object(entry).name));
  if (names.includes('default')) return [];
  const message = `${path} has the chat templates ${names.join(', ')} and none named default: ${names[0]} is used; write the one to use into chat_template.jinja`;
  return [{ level: 'warning', code: 'TEMPLATE_CHOICE', subject: 'chat_template', message }];
}
