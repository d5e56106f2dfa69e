import { estimate, imageTokens, openRemoteCheckpoint, videoTokens } from '@markbase/loader';

// A few kilobytes of headers, before anything is downloaded.
const remote = await openRemoteCheckpoint('google/gemma-4-e2b-it');
const memory = estimate(remote, { contextTokens: 4_096, sequences: 2, memoryBytes: 16e9 });
console.log(memory.totalBytes, memory.weightBytes, memory.cacheBytes, memory.bytesByModule);
console.log(memory.kv.perToken, memory.kv.perTokenBeyondWindow, memory.activePerToken.total);
console.log(memory.fit?.fits, memory.fit?.maxContextTokens);

console.log(imageTokens({ width: 1920, height: 1080 }, 560).softTokens); // 527
const video = { width: 1280, height: 720, frameCount: 900, framesPerSecond: 30 };
console.log(videoTokens(video).softTokens, videoTokens(video).timestamps.at(-1));
