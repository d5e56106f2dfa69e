import { signal } from '@preact/signals';
import { type AnswerSettings, DEFAULT_SETTINGS, knownSettings } from './answer-settings.js';
import { readStored, store } from './storage.js';

const KEY = 'markbase.settings';
const API_KEY = 'markbase.api-key';

const stored = readStored<Record<string, unknown>>(KEY) ?? {};

/** The settings with which the conversation that is shown is answered. */
export const settings = signal<AnswerSettings>(lastSettings());

/** Sent as a bearer token; empty = none. An earlier version kept it with the settings. */
export const apiKey = signal(
  readStored<string>(API_KEY) ?? (typeof stored.apiKey === 'string' ? stored.apiKey : ''),
);

apiKey.subscribe((value) => store(API_KEY, value));

/** Changes some settings, also for new conversations in this browser. */
export function changeSettings(change: Partial<AnswerSettings>): void {
  settings.value = { ...settings.value, ...change };
  store(KEY, settings.value);
}

/** The settings that were changed last: a new conversation begins with them. */
export function lastSettings(): AnswerSettings {
  return { ...DEFAULT_SETTINGS, ...knownSettings(readStored<Record<string, unknown>>(KEY) ?? {}) };
}
