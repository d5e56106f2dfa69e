export { createServer, type ListenOptions, type Server } from './create-server.js';
export { RequestError } from './errors/request-error.js';
export { checkCaller, checkKey } from './http/guard.js';
export type { LogFields, Logger } from './logger.js';
export type { ServedModel, ServerLimits, ServerOptions } from './server-options.js';
export type { Transcriber, TranscriberOptions, Transcript } from './transcriptions/transcriber.js';
