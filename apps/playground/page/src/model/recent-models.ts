import { signal } from '@preact/signals';
import type { LoadRequest } from '../../../src/playground-api/playground-types.js';
import { readStored, store } from '../settings/storage.js';

const KEY = 'markbase.recent-models';
const KEPT = 4;

/** The models that this browser loaded last, with their options, newest first. */
export const recentModels = signal<readonly LoadRequest[]>(readRecent());

/** Remembers a model that has been loaded. */
export function rememberModel(request: LoadRequest): void {
  const others = recentModels.value.filter(({ model }) => model !== request.model);
  recentModels.value = [request, ...others].slice(0, KEPT);
  store(KEY, recentModels.value);
}

function readRecent(): LoadRequest[] {
  const stored = readStored<unknown>(KEY);
  if (!Array.isArray(stored)) return [];
  return stored.filter((entry): entry is LoadRequest => typeof entry?.model === 'string').slice(0, KEPT);
}
