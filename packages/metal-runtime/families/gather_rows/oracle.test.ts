import { testFamily } from '../../test/test-family.js';
import { gatherRows } from './oracle.js';

await testFamily(gatherRows);
