import type { ConfigReader } from '../config/config-reader.js';
import type { ModelConfig } from '../config/model-config.js';
import { type Finding, someOf } from './finding.js';

/** Why a checkpoint takes no pictures or no sound; null = it does. */
export interface AbsentTowers {
  /** Why it takes no pictures. */
  readonly vision: string | null;
  /** Why it takes no sound. */
  readonly audio: string | null;
}

type Sense = keyof AbsentTowers;

/** Modules without which a medium cannot become soft tokens. */
const ROOTS = {
  gemma4: { vision: ['vision_tower', 'embed_vision'], audio: ['audio_tower', 'embed_audio'] },
  gemma4_unified: { vision: ['vision_embedder', 'embed_vision'], audio: ['embed_audio'] },
} as const;
const MEDIA = { vision: 'images', audio: 'sound' } as const;

/** A config with the towers that the tensors of a checkpoint contain. */
export interface PresentTowers {
  /** `vision` and `audio` are null where tensors are missing, whatever config.json says. */
  readonly config: ModelConfig;
  readonly absent: AbsentTowers;
  readonly findings: readonly Finding[];
}

/**
 * Compares what config.json says about towers with the tensors.
 *
 * @param names canonical names of all tensors
 * @param lostSidecar file that config.json names for more tensors, if it does not exist
 */
export function presentTowers(
  config: ModelConfig,
  names: Iterable<string>,
  lostSidecar: string | null = null,
): PresentTowers {
  if (config.family === 'gemma4_assistant') {
    const reason = 'a drafter only reads the keys and values of its target';
    return { config, absent: { vision: reason, audio: reason }, findings: [] };
  }
  const roots = ROOTS[config.family];
  const present = new Set(Array.from(names, (name) => name.slice(0, name.indexOf('.'))));
  const findings: Finding[] = [];
  const reasonOf = (sense: Sense): string | null => {
    const found = roots[sense].filter((root) => present.has(root));
    const lost = roots[sense].filter((root) => !present.has(root));
    const key = `${sense}_config`;
    if (config[sense] === null) {
      if (found.length === 0) return `config.json has no ${key}`;
      const reason = `config.json has no ${key}, although the checkpoint has tensors of ${someOf(found)}: copy ${key} from the original checkpoint`;
      findings.push({ level: 'warning', code: 'TOWER_WITHOUT_CONFIG', subject: key, message: reason });
      return reason;
    }
    if (lost.length === 0) return null;
    if (lostSidecar !== null) {
      return `config.json says that ${lostSidecar} has more tensors, but the file is missing: download it into the folder`;
    }
    if (found.length === 0) {
      return `config.json has ${key}, but the checkpoint has no tensors of ${someOf(lost)}: it is a text-only conversion; use the original checkpoint for ${MEDIA[sense]}`;
    }
    const reason = `the checkpoint has tensors of ${someOf(found)}, but none of ${someOf(lost)}: the conversion lost them; use another conversion for ${MEDIA[sense]}`;
    findings.push({ level: 'error', code: 'INCOMPLETE_TOWER', subject: lost[0]!, message: reason });
    return reason;
  };
  const absent = { vision: reasonOf('vision'), audio: reasonOf('audio') };
  const without = {
    ...(absent.vision !== null && { vision: null }),
    ...(absent.audio !== null && { audio: null }),
  };
  return { config: { ...config, ...without }, absent, findings };
}

/** Names of further weight files that config.json mentions, as `{"optiq_vision": {"sidecar": "name.safetensors"}}`. */
export function sidecarNames(root: ConfigReader): string[] {
  return root.keys().flatMap((key) => {
    const value = root.raw(key);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
    const section = root.object(key)!;
    return section.has('sidecar') ? [section.string('sidecar', '')] : [];
  });
}
