import { changeOften, conversation } from '../conversation/current.js';
import { loadedModel } from '../model/model-state.js';
import { Panel } from '../shell/panel.js';
import { DEFAULT_SETTINGS, type WhenFull } from './answer-settings.js';
import { NumberField } from './number-field.js';
import { PresetFields } from './preset-fields.js';
import { SchemaField } from './schema-field.js';
import { apiKey, changeSettings, settings } from './settings.js';

/** System prompt, thinking, tools and sampling. */
export function SettingsPanel() {
  const { value } = settings;
  const defaults = loadedModel.value?.defaults;
  return (
    <Panel id="settings" title="Settings">
      <label class="field">
        System prompt
        <textarea
          rows={4}
          value={conversation.value.systemPrompt}
          placeholder="How the model should behave"
          onInput={({ currentTarget }) => {
            const { value: systemPrompt } = currentTarget;
            changeOften((chat) => ({ ...chat, systemPrompt }));
          }}
        />
      </label>
      <PresetFields />
      <label class="check">
        <input
          type="checkbox"
          checked={value.thinking}
          onChange={({ currentTarget }) => changeSettings({ thinking: currentTarget.checked })}
        />
        Think before answering
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={value.tools}
          onChange={({ currentTarget }) => changeSettings({ tools: currentTarget.checked })}
        />
        Offer the demo tools: weather (invented) and calculator
      </label>
      <label class="field row">
        When the context is full
        <select
          value={value.whenFull}
          onChange={({ currentTarget }) => changeSettings({ whenFull: currentTarget.value as WhenFull })}
        >
          <option value="stop">ask me</option>
          <option value="drop">leave out the oldest turns</option>
          <option value="summarise">summarise the oldest turns</option>
        </select>
      </label>
      <SchemaField />
      <h3>Sampling</h3>
      <p class="hint">For this conversation, and those that you begin later.</p>
      <p class="hint">An empty field uses the checkpoint's default.</p>
      <NumberField
        name="temperature"
        label="Temperature"
        min={0}
        max={2}
        step={0.1}
        hint={defaults?.temperature ?? 0}
      />
      <NumberField name="topP" label="Top p" min={0.01} max={1} step={0.05} hint={defaults?.topP ?? 1} />
      <NumberField
        name="topK"
        label="Top k (0 = off)"
        min={0}
        max={1000}
        step={1}
        hint={defaults?.topK ?? 0}
      />
      <NumberField name="minP" label="Min p" min={0} max={0.99} step={0.01} hint={0} />
      <NumberField
        name="repetitionPenalty"
        label="Repetition penalty"
        min={0.1}
        max={5}
        step={0.05}
        hint={1}
      />
      <NumberField
        name="maxTokens"
        label="Maximum answer length (tokens)"
        min={1}
        max={1_000_000}
        step={1}
        hint="unlimited"
      />
      <NumberField name="seed" label="Seed" min={0} max={Number.MAX_SAFE_INTEGER} step={1} hint="random" />
      <label class="field">
        Stop strings, one per line
        <textarea
          rows={2}
          value={value.stop}
          onInput={({ currentTarget }) => changeSettings({ stop: currentTarget.value })}
        />
      </label>
      {/* Password managers expect a form. */}
      <form onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          API key, if the server requires one
          <input
            type="password"
            autoComplete="off"
            value={apiKey.value}
            onInput={({ currentTarget }) => {
              apiKey.value = currentTarget.value;
            }}
          />
        </label>
      </form>
      <button type="button" onClick={() => changeSettings(DEFAULT_SETTINGS)}>
        Reset to defaults
      </button>
    </Panel>
  );
}
