import { testFamily } from '../../test/test-family.js';
import { poolRows } from './oracle.js';

await testFamily(poolRows);
