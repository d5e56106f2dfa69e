/** The systems that an addon is published for. */
const PUBLISHED = ['linux-x64', 'linux-arm64', 'darwin-arm64'];
const SYSTEMS = 'Linux on x86-64 or ARM64 with glibc 2.28 or newer, and macOS 14 or newer on Apple silicon';
const BUILD = 'build the addon from a checkout ("pnpm build"; needs CMake and a C++20 compiler)';

/** The system that an addon could not be loaded on. */
export interface AddonSystem {
  /** As in Node, such as "linux" and "x64". */
  readonly platform: string;
  readonly arch: string;
  /** Version of glibc; null where another C library is used. */
  readonly glibc: string | null;
}

/** This system. */
export function addonSystem(): AddonSystem {
  const { platform, arch } = process;
  return { platform, arch, glibc: platform === 'linux' ? glibcVersion() : null };
}

/** What to do where the addon cannot be loaded. Names packages only where there are some. */
export function addonAdvice({ platform, arch, glibc }: AddonSystem): string {
  const name = `${platform}-${arch}`;
  if (platform === 'win32')
    return `Windows is not supported. The addon exists for ${SYSTEMS}; use Linux in WSL 2.`;
  if (name === 'darwin-x64')
    return `Macs with Intel processors are not supported. The addon exists for ${SYSTEMS}.`;
  if (!PUBLISHED.includes(name)) return `${name} is not supported. The addon exists for ${SYSTEMS}.`;
  if (platform === 'linux' && glibc === null)
    return `Systems with musl, such as Alpine, are not supported. The addon exists for ${SYSTEMS}: use an image with glibc, such as node:20-slim.`;
  return (
    `Install it with optional dependencies ("npm install @markbase/metal-runtime-${name}"), or ${BUILD}. ` +
    'A bundler must leave it in node_modules.'
  );
}

function glibcVersion(): string | null {
  const header = (process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined)
    ?.header;
  return header?.glibcVersionRuntime ?? null;
}
