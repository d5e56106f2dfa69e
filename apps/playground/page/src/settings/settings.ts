import { signal } from '@preact/signals';
import { readStored, store } from './storage.js';

/** Options for answers. Null means the checkpoint's default. */
export interface Settings {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly minP: number | null;
  readonly repetitionPenalty: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
  /** Strings that end an answer, one per line. */
  readonly stop: string;
  readonly thinking: boolean;
  /** Offers the two demo tools to the model. */
  readonly tools: boolean;
  /** Sent as a bearer token; empty = none. */
  readonly apiKey: string;
}

/** Settings of a new visitor. */
export const DEFAULT_SETTINGS: Settings = {
  temperature: null,
  topP: null,
  topK: null,
  minP: null,
  repetitionPenalty: null,
  maxTokens: null,
  seed: null,
  stop: '',
  thinking: false,
  tools: false,
  apiKey: '',
};

const KEY = 'markbase.settings';

/** The settings, stored in this browser. */
export const settings = signal<Settings>({ ...DEFAULT_SETTINGS, ...readStored<Partial<Settings>>(KEY) });

settings.subscribe((value) => store(KEY, value));

/** Changes some settings. */
export function changeSettings(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
}
