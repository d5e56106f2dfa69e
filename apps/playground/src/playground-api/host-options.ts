import type { ServerLimits } from '@markbase/server';

/** Options that apply to every model. */
export interface HostOptions {
  readonly apiKey?: string;
  readonly allowedHosts?: readonly string[];
  readonly allowedImageHosts?: readonly string[];
  readonly threads?: number;
  readonly limits?: Partial<ServerLimits>;
}
