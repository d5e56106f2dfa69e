import { join } from 'node:path';
import type { Finding } from '../checkpoint/finding.js';
import { someOf } from '../checkpoint/finding.js';
import type { Checkpoint } from '../checkpoint/open-checkpoint.js';
import { openShards, safetensorsNames } from '../checkpoint/shards.js';
import { hasSeparateHead, separateHeadError } from '../checkpoint/tied-head.js';
import { canonicalName } from '../checkpoint/weight-names.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';
import type { TensorView } from '../safetensors/tensor-view.js';

/** Roots of the tensors that a checkpoint consists of. */
const OWN_ROOT = /^(?:language_model|vision_tower|audio_tower|embed_vision|embed_audio|vision_embedder)\./;

/** What a checkpoint contains that would be ignored although it could change answers. Reads only tensors that are there twice. */
export async function ignoredFindings(checkpoint: Checkpoint, signal?: AbortSignal): Promise<Finding[]> {
  return [
    ...(await headFindings(checkpoint, signal)),
    ...(await hiddenFindings(checkpoint, signal)),
    ...(await fileFindings(checkpoint)),
  ];
}

async function headFindings(checkpoint: Checkpoint, signal?: AbortSignal): Promise<Finding[]> {
  const { config, weights, configPath } = checkpoint;
  if (!config.text.tieWordEmbeddings || !weights.hasModule('language_model.embed_tokens')) return [];
  if (!(await hasSeparateHead(weights, config, null, signal))) return [];
  const { message } = separateHeadError(configPath);
  return [{ level: 'error', code: 'SEPARATE_HEAD', subject: 'lm_head.weight', message }];
}

/** Tensors that are in two files: an error if their bytes differ. */
async function hiddenFindings(checkpoint: Checkpoint, signal?: AbortSignal): Promise<Finding[]> {
  const { hidden } = await openShards(checkpoint.directory, { signal });
  const findings: Finding[] = [];
  for (const [other, used] of hidden) {
    const isSame = await hasSameBytes(other, used, signal);
    const places = `${other.name} is in ${other.range.path} and in ${used.range.path}`;
    const message = isSame
      ? `${places}, with the same values`
      : `${places}, with other values; the index chooses the second: remove one of them`;
    findings.push({
      level: isSame ? 'warning' : 'error',
      code: 'STORED_TWICE',
      subject: other.name,
      message,
    });
  }
  return findings;
}

async function hasSameBytes(a: TensorView, b: TensorView, signal?: AbortSignal): Promise<boolean> {
  if (a.dtype !== b.dtype || `${a.shape}` !== `${b.shape}`) return false;
  const others = b.chunks();
  for await (const bytes of a.chunks()) {
    signal?.throwIfAborted();
    if (Buffer.compare(bytes, (await others.next()).value as Uint8Array) !== 0) return false;
  }
  return true;
}

/** Files in the folder that are not read, but have tensors that the checkpoint lacks. */
async function fileFindings({ directory, weights }: Checkpoint): Promise<Finding[]> {
  const read = new Set(Array.from(weights.entries(), ([, { range }]) => range.path));
  const known = new Set(weights.names());
  const findings: Finding[] = [];
  for (const name of await safetensorsNames(directory)) {
    const path = join(directory, name);
    if (read.has(path)) continue;
    // A file of another format is not part of the checkpoint.
    const tensors = await openSafetensors(path).then(
      ({ tensors }) => [...tensors.keys()],
      () => [],
    );
    const lost = tensors.map(canonicalName).filter((tensor) => OWN_ROOT.test(tensor) && !known.has(tensor));
    if (lost.length === 0) continue;
    const message = `${path} is not read, but has ${lost.length} tensors that the checkpoint lacks: ${someOf(lost)}; name it in the index`;
    findings.push({ level: 'error', code: 'UNREAD_FILE', subject: name, message });
  }
  return findings;
}
