// Runs tasks of the packages without telemetry: `node tools/turbo.mjs build test --filter=@markbase/loader`.
import { run } from './lib/process.mjs';

process.exitCode = run('turbo', ['run', ...process.argv.slice(2)]);
