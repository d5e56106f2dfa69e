import { z } from 'zod';
import { parseRequest } from '../errors/parse-request.js';
import { badParameter } from '../errors/request-error.js';
import type { Form } from '../http/read-form.js';

const languageNames = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });

/** Fields of `POST /v1/audio/transcriptions` besides the file. Those of a form are text. */
const transcriptionFields = z.strictObject({
  model: z.string(),
  language: z.string().refine(isLanguage, 'expected an ISO 639 code, such as en').optional(),
  prompt: z.string().optional(),
  response_format: z.enum(['json', 'text']).optional(),
  temperature: z.string().transform(Number).pipe(z.number().min(0).max(1)).optional(),
  stream: z.enum(['true', 'false']).optional(),
  chunking_strategy: z.literal('auto').optional(),
});

/** A checked body of `POST /v1/audio/transcriptions`. */
export type TranscriptionRequest = z.output<typeof transcriptionFields> & { readonly file: Uint8Array };

/** The request in a form. Empty texts count as absent. @throws RequestError (400) that names the field */
export function transcriptionRequestOf({ fields, files }: Form): TranscriptionRequest {
  const entries = Object.entries(fields).filter(([name, value]) => value !== '' && name !== 'file');
  const request = parseRequest(transcriptionFields, Object.fromEntries(entries));
  const { file, ...others } = files;
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw badParameter(other, `Unsupported parameter: '${other}' is a file`, 'unsupported_parameter');
  }
  if (file === undefined) {
    const message = "Missing required parameter: 'file', a part with a file name";
    throw badParameter('file', message, 'missing_required_parameter');
  }
  if (request.stream === 'true' && request.response_format === 'text') {
    const message = "Invalid value for 'response_format': a stream has events; send json";
    throw badParameter('response_format', message, 'invalid_value');
  }
  return { ...request, file };
}

function isLanguage(code: string): boolean {
  try {
    return languageNames.of(code) !== undefined;
  } catch {
    return false;
  }
}
