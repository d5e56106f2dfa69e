import { signal } from '@preact/signals';
import { type AnswerSettings, knownSettings } from './answer-settings.js';
import { readStored, store } from './storage.js';

/** A system prompt and settings under a name. */
export interface Preset {
  readonly name: string;
  readonly systemPrompt: string;
  readonly settings: Partial<AnswerSettings>;
}

const KEY = 'markbase.presets';

/** The presets of this browser, by name. */
export const presets = signal<readonly Preset[]>(
  (readStored<Preset[]>(KEY) ?? []).map(({ name, systemPrompt, settings }) => ({
    name: String(name),
    systemPrompt: String(systemPrompt),
    settings: knownSettings({ ...settings }),
  })),
);

presets.subscribe((value) => store(KEY, value));

/** Adds a preset; one of the same name is replaced. */
export function savePreset(preset: Preset): void {
  const others = presets.value.filter(({ name }) => name !== preset.name);
  presets.value = [...others, preset].sort((a, b) => a.name.localeCompare(b.name));
}

/** Removes a preset. */
export function removePreset(name: string): void {
  presets.value = presets.value.filter((preset) => preset.name !== name);
}
