import { signal } from '@preact/signals';
import type { FitReport, LoadRequest } from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { postJson } from '../api/playground-api.js';

/** What the form would load. */
export const loadRequest = signal<LoadRequest>({
  model: '',
  device: 'auto',
  precision: 'fast',
  contextTokens: null,
  maxSequences: 4,
});
/** Whether it fits; null if not checked. */
export const fit = signal<FitReport | null>(null);
/** Why it could not be checked; null if there was no error. */
export const fitError = signal<string | null>(null);
/** True while it is checked. */
export const isChecking = signal(false);
/** The longest context that the model was trained for; null if not known yet. */
export const maxPositions = signal<number | null>(null);

/** Changes what the form would load. */
export function changeLoadRequest(fields: Partial<LoadRequest>): void {
  if (fields.model !== undefined && fields.model !== loadRequest.value.model) maxPositions.value = null;
  loadRequest.value = { ...loadRequest.value, ...fields };
  fit.value = null;
  fitError.value = null;
}

/** Asks the server whether the model fits, from its headers; nothing is downloaded. */
export async function checkFit(): Promise<void> {
  const asked = loadRequest.value;
  isChecking.value = true;
  fitError.value = null;
  try {
    const report = await postJson<FitReport>('estimate', asked);
    if (loadRequest.value !== asked) return;
    fit.value = report;
    maxPositions.value = report.maxPositions;
  } catch (error) {
    if (loadRequest.value === asked) fitError.value = describeError(error);
  } finally {
    isChecking.value = false;
  }
}

/** Puts a model into the form, and checks whether it fits. */
export function chooseModel(fields: Partial<LoadRequest>): void {
  changeLoadRequest({ contextTokens: null, ...fields });
  void checkFit();
}
