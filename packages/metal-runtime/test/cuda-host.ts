import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCuda as openCudaWith } from '../../../fixtures/open-cuda.js';
import type { ConformanceCase } from '../conformance/conformance-case.js';
import { type Device, openDevice } from '../src/index.js';

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The stand-in for NVIDIA's driver, and the PTX of the kernels. */
const cudaLibrary = process.env.MARKBASE_LIBCUDA ?? fileOf('../../metal-sim/build/libcuda-sim.so');
export const cudaKernels = process.env.MARKBASE_PTX ?? fileOf('../build/ptx');

/** What is missing to run the CUDA backend without a GPU, or null. */
export function missingCudaParts(): string | null {
  if (!existsSync(cudaLibrary)) return 'no stand-in: node packages/metal-sim/build.mjs --cuda';
  if (!existsSync(`${cudaKernels}/kernels.json`))
    return 'no PTX: node packages/metal-runtime/scripts/build-ptx.mjs';
  return null;
}

/** True once `openCuda` has opened the stand-in. */
export function isOverStandIn(): boolean {
  return process.env.MARKBASE_LIBCUDA === cudaLibrary && path.basename(cudaLibrary).startsWith('libcuda-sim');
}

/** The CUDA backend on a real GPU, or over the stand-in if it was built; null without both. */
export const openCuda = (): Promise<Device | null> => openCudaWith(openDevice);

/**
 * The stand-in runs the kernels of metal-sim, which is slow: the cases are brief and have few rows, unless
 * MARKBASE_CONFORMANCE=full.
 */
export function isBriefOn(device: Device | null): boolean {
  return device !== null && isOverStandIn() && process.env.MARKBASE_CONFORMANCE !== 'full';
}

const MOST_BRIEF_ROWS = 36;
/** With more rows, tiles fill up that fewer rows do not reach, and products with few outputs take another kernel. */
const NEED_ROWS = /^(?:block of full tiles|router|q8g128)/;

/** The cases that a device runs: see isBriefOn. */
export function isTakenOn(device: Device | null, { name, rows }: ConformanceCase): boolean {
  return !isBriefOn(device) || rows.count <= MOST_BRIEF_ROWS || NEED_ROWS.test(name);
}
