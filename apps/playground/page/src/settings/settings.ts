import { signal } from '@preact/signals';
import { readStored, store } from './storage.js';

/** How answers are made. Numbers that are null come from the checkpoint. */
export interface Settings {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly minP: number | null;
  readonly repetitionPenalty: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
  /** Texts that end an answer, one a line. */
  readonly stop: string;
  readonly thinking: boolean;
  /** Offers the two demo tools to the model. */
  readonly tools: boolean;
  /** Sent as a bearer token; empty = none. */
  readonly apiKey: string;
}

/** What a new visitor starts with. */
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

/** The settings, kept in this browser. */
export const settings = signal<Settings>({ ...DEFAULT_SETTINGS, ...readStored<Partial<Settings>>(KEY) });

settings.subscribe((value) => store(KEY, value));

/** Changes some of the settings. */
export function changeSettings(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
}
