/** What determines whether a Mac can run the Metal backend. */
export interface Mac {
  /** `process.arch`. */
  readonly arch: string;
  /** `os.release()`: the version of Darwin. */
  readonly release: string;
  /** Why the backend does not open; null if it does. */
  readonly reason: string | null;
}

/** Darwin 23 is macOS 14. */
const FIRST_DARWIN = 23;

/** What to do so that a Mac runs on its GPU; null if it does. */
export function adviceForMac({ arch, release, reason }: Mac): string | null {
  if (reason === null) return null;
  if (arch !== 'arm64') {
    return 'on Apple Silicon, install Node for ARM64 instead of this Intel build; Macs with Intel processors have no supported GPU';
  }
  const darwin = Number(release.split('.')[0]);
  if (darwin < FIRST_DARWIN) return 'update to macOS 14 or newer';
  if (/backends: cpu|not built|Cannot find/.test(reason)) {
    return 'build the addon with Metal: `xcode-select --install && brew install cmake`, then `pnpm build` in a clone';
  }
  return 'the GPU of an M1 or newer is required; virtual machines do not provide one';
}
