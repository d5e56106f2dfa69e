export { type CachedModel, listCachedModels } from './cached-models.js';
export {
  type DownloadedCheckpoint,
  type DownloadOptions,
  type DownloadProgress,
  downloadCheckpoint,
} from './download-checkpoint.js';
export { DownloadError, type DownloadRule } from './download-error.js';
export { defaultCacheDir, type HubOptions, isRepositoryName } from './hub-options.js';
export { openRemoteCheckpoint, type RemoteCheckpoint, type RemoteTensor } from './remote-checkpoint.js';
export { type RemovedModel, type RemoveOptions, removeCachedModel } from './remove-cached-model.js';
export { MAX_LISTING_BYTES, MAX_REPOSITORY_FILES } from './repository-info.js';
export { resolveCheckpoint } from './resolve-checkpoint.js';
