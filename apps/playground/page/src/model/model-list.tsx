import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { KnownModel } from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { getJson } from '../api/playground-api.js';
import { formatBytes } from './format.js';
import { chooseModel, loadRequest } from './load-request.js';
import { recentModels } from './recent-models.js';

const KINDS: Readonly<Record<KnownModel['kind'], string>> = {
  demo: 'comes with MarkBase',
  cache: 'downloaded',
  folder: 'in a configured folder',
};

/** Models that this browser loaded before, and those on the server's machine. Choosing one checks whether it fits. */
export function ModelList() {
  const known = useSignal<readonly KnownModel[]>([]);
  const failure = useSignal<string | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    getJson<KnownModel[]>('models', controller.signal).then(
      (models) => {
        known.value = models;
      },
      (error: unknown) => {
        if (!controller.signal.aborted) failure.value = describeError(error);
      },
    );
    return () => controller.abort();
  }, []);
  const recent = recentModels.value;
  return (
    <>
      {failure.value && (
        <p class="error" role="alert">
          {failure.value}
        </p>
      )}
      {recent.length > 0 && (
        <>
          <h3>Recent</h3>
          <ul class="models">
            {recent.map((request) => (
              <Row key={request.model} model={request.model} onChoose={() => chooseModel(request)}>
                {known.value.find(({ model }) => model === request.model)?.name ?? request.model}
              </Row>
            ))}
          </ul>
        </>
      )}
      <h3>On this machine</h3>
      <ul class="models">
        {known.value.map((one) => (
          <Row
            key={one.model}
            model={one.model}
            detail={detailsOf(one)}
            onChoose={() => chooseModel({ model: one.model })}
          >
            {one.name}
          </Row>
        ))}
      </ul>
    </>
  );
}

function Row(props: {
  readonly model: string;
  readonly detail?: string;
  readonly children: string;
  onChoose(): void;
}) {
  return (
    <li>
      <button
        type="button"
        class="quiet"
        title={props.model}
        aria-pressed={loadRequest.value.model === props.model}
        onClick={props.onChoose}
      >
        <strong>{props.children}</strong>
        {props.detail && <span class="hint">{props.detail}</span>}
      </button>
    </li>
  );
}

function detailsOf({ kind, format, sizeBytes, isComplete }: KnownModel): string {
  const state = isComplete ? KINDS[kind] : 'download interrupted; loading continues it';
  return [format, formatBytes(sizeBytes), state].filter((part) => part !== '').join(', ');
}
