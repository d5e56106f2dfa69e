import { testFamily } from '../../test/test-family.js';
import { moeCombine } from './oracle.js';

await testFamily(moeCombine);
