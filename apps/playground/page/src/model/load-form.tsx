import { useSignal } from '@preact/signals';
import type { FitReport, LoadRequest } from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { postJson } from '../api/playground-api.js';
import { FitView } from './fit-view.js';
import { FolderBrowser } from './folder-browser.js';
import { loadModel, serverState } from './model-state.js';

const CONTEXTS = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

/** The form for loading a model, with an estimate of its memory needs. */
export function LoadForm() {
  const request = useSignal<LoadRequest>({
    model: '',
    device: 'auto',
    precision: 'fast',
    contextTokens: null,
    maxSequences: 4,
  });
  const fit = useSignal<FitReport | null>(null);
  const failure = useSignal<string | null>(null);
  const isBrowsing = useSignal(false);
  const isChecking = useSignal(false);
  const state = serverState.value;
  const change = (fields: Partial<LoadRequest>) => {
    request.value = { ...request.value, ...fields };
    fit.value = null;
    failure.value = null;
  };
  const check = async () => {
    const asked = request.value;
    isChecking.value = true;
    failure.value = null;
    try {
      const report = await postJson<FitReport>('estimate', asked);
      if (request.value === asked) fit.value = report;
    } catch (error) {
      if (request.value === asked) failure.value = describeError(error);
    } finally {
      isChecking.value = false;
    }
  };
  const { model, device, precision, contextTokens, maxSequences } = request.value;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (fit.value) void loadModel(request.value);
        else void check();
      }}
    >
      <label class="field">
        Folder, or org/name on the hub
        <input
          type="text"
          required
          value={model}
          list="model-suggestions"
          autoComplete="off"
          spellcheck={false}
          placeholder="/models/gemma-4-e2b-it"
          onInput={({ currentTarget }) => change({ model: currentTarget.value.trim() })}
        />
      </label>
      <datalist id="model-suggestions">
        {state?.suggestions.map(({ name, model: value }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </datalist>
      <button
        type="button"
        aria-expanded={isBrowsing.value}
        onClick={() => (isBrowsing.value = !isBrowsing.value)}
      >
        Browse folders
      </button>
      {isBrowsing.value && (
        <FolderBrowser
          onChoose={(path) => {
            isBrowsing.value = false;
            change({ model: path });
            void check();
          }}
        />
      )}
      <label class="field row">
        Device
        <select value={device} onChange={({ currentTarget }) => change({ device: currentTarget.value })}>
          {['auto', ...(state?.devices ?? [])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="field row">
        Precision
        <select
          value={precision}
          onChange={({ currentTarget }) =>
            change({ precision: currentTarget.value === 'high' ? 'high' : 'fast' })
          }
        >
          <option value="fast">fast</option>
          <option value="high">high (float32)</option>
        </select>
      </label>
      <label class="field row">
        Context
        <select
          value={contextTokens ?? ''}
          onChange={({ currentTarget }) => change({ contextTokens: Number(currentTarget.value) || null })}
        >
          <option value="">default</option>
          {CONTEXTS.map((tokens) => (
            <option key={tokens} value={tokens}>
              {tokens.toLocaleString('en')} tokens
            </option>
          ))}
        </select>
      </label>
      <label class="field row">
        Answers at once
        <input
          type="number"
          min={1}
          max={64}
          value={maxSequences}
          onInput={({ currentTarget }) => {
            if (currentTarget.validity.valid) change({ maxSequences: currentTarget.valueAsNumber });
          }}
        />
      </label>
      {failure.value && (
        <p class="error" role="alert">
          {failure.value}
        </p>
      )}
      {fit.value && <FitView report={fit.value} />}
      <div class="buttons">
        <button type="button" disabled={model === '' || isChecking.value} onClick={() => void check()}>
          {isChecking.value ? 'Checking…' : 'Does it fit?'}
        </button>
        <button type="submit" class="primary" disabled={!fit.value}>
          {fit.value?.downloadBytes ? 'Download and load' : 'Load'}
        </button>
      </div>
    </form>
  );
}
