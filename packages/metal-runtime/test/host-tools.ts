import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** A source with its flags, and a target of several sources: see packages/metal-sim/tools. */
interface Target {
  output: string;
  units: { source: string; flags: string[] }[];
  link: string[];
}

/** Builds programs over the simulator. */
export interface HostTools {
  /** What is missing on this machine, or null. */
  readonly missingTools: () => string | null;
  readonly buildTarget: (target: Target) => Promise<{ isOk: boolean; message: string }>;
  readonly cudaHostTarget: (source: string) => Target;
}

export const simulator = fileURLToPath(new URL('../../metal-sim/', import.meta.url));

/** The simulator's own tools: plain JavaScript in a package that this one does not depend on. */
export async function loadHostTools(): Promise<HostTools> {
  const load = (name: string) => import(path.join(simulator, 'tools', name));
  const [clang, compile, targets] = await Promise.all(['clang.mjs', 'compile.mjs', 'targets.mjs'].map(load));
  return { ...clang, ...compile, ...targets } as HostTools;
}
