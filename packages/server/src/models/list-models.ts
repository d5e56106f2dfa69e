import type { RequestScope } from '../request-scope.js';
import type { ServedModel } from '../server-options.js';

/** `GET /v1/models`: the models and the input that they accept. */
export function listModels(scope: RequestScope): Response {
  const { settings, responseOptions } = scope;
  const data = settings.models.map((served) => describe(served, scope));
  return Response.json({ object: 'list', data }, { headers: responseOptions.headers });
}

/** `GET /v1/models/:id`. @throws RequestError (404) */
export function retrieveModel(scope: RequestScope, id: string): Response {
  return Response.json(describe(scope.served(id), scope), { headers: scope.responseOptions.headers });
}

function describe({ id, model, media }: ServedModel, scope: RequestScope): object {
  return {
    id,
    object: 'model',
    created: scope.startedSeconds,
    owned_by: 'markbase',
    context_length: model.settings.contextTokens,
    input_modalities: [
      'text',
      ...(media?.encodeImage ? ['image'] : []),
      ...(media?.encodeAudio ? ['audio'] : []),
      ...(media?.encodeVideo ? ['video'] : []),
    ],
  };
}
