import {
  CorruptFileError,
  DeviceError,
  DeviceUnavailableError,
  FileAccessError,
  InvalidArgumentError,
  NonFiniteError,
  OutOfMemoryError,
} from '@markbase/core';

/** Properties that the binding adds to the errors that it throws: the fields of a C++ `Status`. */
interface NativeErrorFields {
  readonly status: string;
  readonly where: string;
  readonly reason: string;
  readonly sizeBytes: number;
}

/** Converts an error of the addon to the class for its status; other errors are returned unchanged. */
export function fromNativeError(error: unknown): unknown {
  if (!(error instanceof Error) || !('status' in error)) return error;
  const { status, where, reason, sizeBytes } = error as Error & NativeErrorFields;
  switch (status) {
    case 'invalid-argument':
      return new InvalidArgumentError({
        argument: where,
        expected: reason,
        received: 'something else',
        cause: error,
      });
    case 'file-access':
      return new FileAccessError({ path: where, operation: 'map', reason, cause: error });
    case 'corrupt-file':
      return new CorruptFileError({ rule: 'MappedFileChanged', path: where, reason, cause: error });
    case 'out-of-memory':
      return new OutOfMemoryError({ requestedBytes: sizeBytes, label: where, ...(reason && { reason }) });
    case 'non-finite':
      return new NonFiniteError({ label: where });
    case 'device-unavailable':
      return new DeviceUnavailableError({ device: where, reason });
    case 'cancelled':
      return new DOMException('the step was cancelled', 'AbortError');
    default:
      return new DeviceError({ kernel: where, reason });
  }
}
