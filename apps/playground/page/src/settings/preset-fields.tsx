import { useSignal } from '@preact/signals';
import { changeConversation, conversation } from '../conversation/current.js';
import { DEFAULT_SETTINGS } from './answer-settings.js';
import { presets, removePreset, savePreset } from './presets.js';
import { changeSettings, settings } from './settings.js';

/** Presets: choose one, save the current prompt and settings as one, remove one. */
export function PresetFields() {
  const name = useSignal('');
  const apply = (chosen: string) => {
    name.value = chosen;
    const preset = presets.value.find((one) => one.name === chosen);
    if (!preset) return;
    changeConversation((chat) => ({ ...chat, systemPrompt: preset.systemPrompt }));
    changeSettings({ ...DEFAULT_SETTINGS, ...preset.settings });
  };
  const isKnown = presets.value.some((preset) => preset.name === name.value.trim());
  return (
    <form
      class="presets"
      onSubmit={(event) => {
        event.preventDefault();
        const { systemPrompt } = conversation.value;
        if (name.value.trim() !== '')
          savePreset({ name: name.value.trim(), systemPrompt, settings: settings.value });
      }}
    >
      {presets.value.length > 0 && (
        <label class="field row">
          Preset
          <select
            value={isKnown ? name.value : ''}
            onChange={({ currentTarget }) => apply(currentTarget.value)}
          >
            <option value="">none</option>
            {presets.value.map((preset) => (
              <option key={preset.name}>{preset.name}</option>
            ))}
          </select>
        </label>
      )}
      <label class="field row">
        Name of a preset
        <input
          type="text"
          value={name.value}
          onInput={({ currentTarget }) => {
            name.value = currentTarget.value;
          }}
        />
      </label>
      <div class="buttons">
        <button type="submit" disabled={name.value.trim() === ''}>
          {isKnown ? 'Save the preset again' : 'Save as preset'}
        </button>
        {isKnown && (
          <button type="button" onClick={() => removePreset(name.value.trim())}>
            Remove
          </button>
        )}
      </div>
    </form>
  );
}
