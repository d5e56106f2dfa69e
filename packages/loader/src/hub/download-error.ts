import { MarkBaseError } from '@markbase/core';

/** What went wrong with a download. */
export type DownloadRule =
  /** 401 or 403: a token is missing, wrong, or lacks access to a gated repository. */
  | 'Unauthorized'
  /** 404: no such repository, revision or file. */
  | 'NotFound'
  /** 429, after all retries. */
  | 'RateLimited'
  /** 5xx, after all retries. */
  | 'ServerError'
  /** Any other status. */
  | 'UnexpectedStatus'
  /** The connection failed, broke or stalled, after all retries. */
  | 'Network'
  /** The server sent a part of the file other than the requested one, or compressed it. */
  | 'RangeNotHonoured'
  | 'SizeMismatch'
  | 'HashMismatch'
  /** Too many redirects, or one to an address that is not allowed. */
  | 'BadRedirect'
  /** The answer does not follow the hub's API. */
  | 'BadAnswer'
  /** A file name that would lead out of the cache. */
  | 'UnsafeFileName'
  /** Offline, and the cache does not have it. */
  | 'NotCached';

/** A download from a model hub failed. What was received so far stays in the cache, and the next call continues from there. */
export class DownloadError extends MarkBaseError {
  readonly code = 'DOWNLOAD';
  /** Stable name of the kind of failure. */
  readonly rule: DownloadRule;
  /** Address without query: signed addresses carry secrets there. */
  readonly url: string;
  /** Why it failed, and what to do. */
  readonly reason: string;
  /** Status of the answer; null if there was none. */
  readonly status: number | null;

  constructor(fields: { rule: DownloadRule; url: string; reason: string; status?: number; cause?: unknown }) {
    const url = withoutSecrets(fields.url);
    super(
      `cannot download ${url}: ${fields.reason} [${fields.rule}]`,
      fields.cause === undefined ? undefined : { cause: fields.cause },
    );
    this.rule = fields.rule;
    this.url = url;
    this.reason = fields.reason;
    this.status = fields.status ?? null;
  }
}

/** An address without user, password, query and fragment. */
function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
