import { badParameter, RequestError } from '../errors/request-error.js';
import { jsonResponse, OPENAI_STREAM, streamResponse } from '../http/answer-response.js';
import type { Frame } from '../http/event-stream.js';
import { mediumError } from '../media/medium-error.js';
import type { RequestScope } from '../request-scope.js';
import type { ServedModel } from '../server-options.js';
import type { Transcriber, Transcript } from './transcriber.js';
import { TranscriptSum } from './transcript-sum.js';
import { type TranscriptionRequest, transcriptionRequestOf } from './transcription-request.js';

/** `POST /v1/audio/transcriptions`: the text of a recording. */
export async function transcriptions(scope: RequestScope): Promise<Response> {
  const request = transcriptionRequestOf(await scope.form());
  const served = scope.served(request.model);
  const { transcribe } = served;
  if (!transcribe) {
    const message = `The model '${served.id}' does not transcribe: its checkpoint or its server has no audio encoder`;
    throw badParameter('model', message, 'unsupported_media');
  }
  const answer = begin(scope, { served, transcribe, request });
  const { responseOptions } = scope;
  const whole = async (transcripts: AsyncIterable<Transcript>) => {
    const sum = new TranscriptSum();
    for await (const transcript of transcripts) sum.push(transcript);
    return sum;
  };
  if (request.stream === 'true') {
    return streamResponse({ fetched: answer, answer }, frames, OPENAI_STREAM, responseOptions);
  }
  if (request.response_format !== 'text') {
    return jsonResponse(
      { answer },
      async (transcripts) => (await whole(transcripts)).whole(),
      responseOptions,
    );
  }
  const { text } = await whole(await answer);
  const headers = { ...responseOptions.headers, 'content-type': 'text/plain; charset=utf-8' };
  return new Response(`${text}\n`, { headers });
}

/** `POST /v1/audio/translations`: refused. */
export function translations(): never {
  const message =
    'Translations are not supported: transcribe the recording, or ask for a translation in a chat with input_audio';
  throw new RequestError({ status: 404, message, apiCode: 'not_found', closesConnection: true });
}

async function* frames(transcripts: AsyncIterable<Transcript>): AsyncGenerator<Frame, void, void> {
  const sum = new TranscriptSum();
  for await (const transcript of transcripts) {
    const delta = sum.push(transcript);
    if (delta !== '') yield { data: { type: 'transcript.text.delta', delta } };
  }
  yield { data: { type: 'transcript.text.done', ...sum.whole() } };
}

/** Waits for a slot and for the first segment, so that a file that cannot be read has a status. */
async function begin(
  scope: RequestScope,
  {
    served,
    transcribe,
    request,
  }: {
    readonly served: ServedModel;
    readonly transcribe: Transcriber;
    readonly request: TranscriptionRequest;
  },
): Promise<AsyncIterable<Transcript>> {
  const { file, language, prompt, temperature } = request;
  const { signal, leave } = await scope.enter(served);
  const source = transcribe(file, {
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature }),
    signal,
  })[Symbol.asyncIterator]();
  const next = async () => {
    try {
      signal.throwIfAborted();
      return await source.next();
    } catch (error) {
      throw mediumError(error, { what: 'file', param: 'file' });
    }
  };
  const rest = async function* (first: IteratorResult<Transcript>) {
    try {
      for (let item = first; !item.done; item = await next()) yield item.value;
    } finally {
      await source.return?.();
      leave();
    }
  };
  try {
    return rest(await next());
  } catch (error) {
    leave();
    throw error;
  }
}
