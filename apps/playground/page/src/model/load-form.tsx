import { useSignal } from '@preact/signals';
import { FitView } from './fit-view.js';
import { FolderBrowser } from './folder-browser.js';
import {
  changeLoadRequest,
  checkFit,
  chooseModel,
  fit,
  fitError,
  isChecking,
  loadRequest,
  maxPositions,
} from './load-request.js';
import { loadModel, serverState } from './model-state.js';

const CONTEXTS = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

/** The form for loading a model, with an estimate of its memory needs. */
export function LoadForm() {
  const isBrowsing = useSignal(false);
  const state = serverState.value;
  const { model, device, precision, contextTokens, maxSequences } = loadRequest.value;
  const contexts = CONTEXTS.filter((tokens) => tokens <= (maxPositions.value ?? Number.POSITIVE_INFINITY));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (fit.value) void loadModel(loadRequest.value);
        else void checkFit();
      }}
    >
      <label class="field">
        Folder, or org/name on the hub
        <input
          type="text"
          required
          value={model}
          autoComplete="off"
          spellcheck={false}
          placeholder="/models/gemma-4-e2b-it"
          onInput={({ currentTarget }) => changeLoadRequest({ model: currentTarget.value.trim() })}
        />
      </label>
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
            chooseModel({ model: path });
          }}
        />
      )}
      <label class="field row">
        Device
        <select
          value={device}
          onChange={({ currentTarget }) => changeLoadRequest({ device: currentTarget.value })}
        >
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
            changeLoadRequest({ precision: currentTarget.value === 'high' ? 'high' : 'fast' })
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
          onChange={({ currentTarget }) =>
            changeLoadRequest({ contextTokens: Number(currentTarget.value) || null })
          }
        >
          <option value="">default</option>
          {contexts.map((tokens) => (
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
            if (currentTarget.validity.valid)
              changeLoadRequest({ maxSequences: currentTarget.valueAsNumber });
          }}
        />
      </label>
      {fitError.value && (
        <p class="error" role="alert">
          {fitError.value}
        </p>
      )}
      {fit.value && <FitView report={fit.value} />}
      <div class="buttons">
        <button type="button" disabled={model === '' || isChecking.value} onClick={() => void checkFit()}>
          {isChecking.value ? 'Checking…' : 'Does it fit?'}
        </button>
        <button type="submit" class="primary" disabled={!fit.value || fit.value.missingFile !== null}>
          {fit.value?.downloadBytes ? 'Download and load' : 'Load'}
        </button>
      </div>
    </form>
  );
}
