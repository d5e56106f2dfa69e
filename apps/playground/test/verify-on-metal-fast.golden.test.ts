import { describeVerifyOnMetal } from './verify-on-metal.js';

await describeVerifyOnMetal('fast');
