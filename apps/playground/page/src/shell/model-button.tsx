import { loadedModel, loading, modelError } from '../model/model-state.js';
import { Icon } from './icon.js';
import { openPanel, togglePanel } from './panels.js';

/** The model's name with its state; opens the panel in which it can be changed. */
export function ModelButton() {
  const state = modelStateName();
  return (
    <button
      type="button"
      class="model-button quiet"
      title={`Model: ${state}`}
      aria-expanded={openPanel.value === 'model'}
      aria-controls={openPanel.value === 'model' ? 'panel-model' : undefined}
      onClick={() => togglePanel('model')}
    >
      <i class={`dot ${state.replace(' ', '-')}`} aria-hidden="true" />
      <span class="visually-hidden">Model: </span>
      <span class="model-name">{loading.value ? loadingText() : (loadedModel.value?.id ?? 'No model')}</span>
      <span class="visually-hidden">, {state}</span>
      <Icon name="chevron" />
    </button>
  );
}

function modelStateName(): 'loading' | 'ready' | 'not available' | 'not loaded' {
  if (loading.value) return 'loading';
  if (loadedModel.value) return 'ready';
  return modelError.value ? 'not available' : 'not loaded';
}

function loadingText(): string {
  const { doneBytes, totalBytes } = loading.value!;
  return totalBytes > 0 ? `Loading, ${Math.floor((100 * doneBytes) / totalBytes)} %` : 'Loading…';
}
