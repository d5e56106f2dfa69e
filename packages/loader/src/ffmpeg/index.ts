export { missingBytes } from './missing-bytes.js';
export {
  ffmpegInput,
  lastMessage,
  runFfmpeg,
  truncationMessage,
} from './run-ffmpeg.js';
