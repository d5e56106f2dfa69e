export { diff, validate } from './check-commands.js';
export { type InspectRequest, inspect, reportLines } from './inspect-command.js';
export { type CliOutput, formatBytes, parseBytes, table } from './output.js';
export { type ExitCode, runCli } from './run-cli.js';
export { convert, download, parseRule, shard } from './write-commands.js';
