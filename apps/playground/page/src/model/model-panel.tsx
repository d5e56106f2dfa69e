import { Panel } from '../shell/panel.js';
import { formatBytes, formatCount } from './format.js';
import { LoadForm } from './load-form.js';
import { LoadingView } from './loading-view.js';
import { ModelList } from './model-list.js';
import { loadedModel, loading, modelError, serverState, unloadModel } from './model-state.js';

/** The loaded model, and a form to load another. */
export function ModelPanel() {
  return (
    <Panel id="model" title="Model">
      <LoadedView />
      {modelError.value && (
        <p class="error" role="alert">
          {modelError.value}
        </p>
      )}
      {loading.value ? (
        <>
          <h3>Loading</h3>
          <LoadingView state={loading.value} />
        </>
      ) : (
        <>
          <ModelList />
          <h3>Load a model</h3>
          <LoadForm />
        </>
      )}
      <MachineView />
    </Panel>
  );
}

function LoadedView() {
  const model = loadedModel.value;
  if (!model) return <p class="hint">No model is loaded. Choose one below.</p>;
  const { device, media } = model;
  const takes = ['text', media.image && 'pictures', media.audio && 'sounds'].filter(Boolean);
  return (
    <>
      <dl class="facts">
        <Fact name="Model" value={model.id} />
        <Fact name="Folder" value={model.folder} />
        <Fact
          name="Device"
          value={`${device.kind}: ${device.name}, ${device.isa}, ${formatCount(device.threads, 'thread')}`}
        />
        <Fact name="Precision" value={model.precision} />
        <Fact
          name="Context"
          value={`${formatCount(model.contextTokens, 'token')}, ${formatCount(model.maxSequences, 'answer')} at once`}
        />
        <Fact
          name="Memory"
          value={`${formatBytes(model.weightBytes)} weights, ${formatBytes(model.cacheBytes)} caches`}
        />
        <Fact name="Input" value={takes.join(', ')} />
      </dl>
      <button type="button" disabled={loading.value !== null} onClick={() => void unloadModel()}>
        Unload
      </button>
    </>
  );
}

function MachineView() {
  const state = serverState.value;
  if (!state) return null;
  const { processor, threads, totalMemoryBytes } = state.machine;
  return (
    <>
      <h3>This machine</h3>
      <dl class="facts">
        <Fact name="Processor" value={`${processor}, ${formatCount(threads, 'thread')}`} />
        <Fact name="Memory" value={formatBytes(totalMemoryBytes)} />
        <Fact name="Devices" value={state.devices.join(', ')} />
        <Fact name="MarkBase" value={state.version} />
      </dl>
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
