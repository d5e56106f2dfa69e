import { testFamily } from '../../test/test-family.js';
import { ropeTable } from './oracle.js';

await testFamily(ropeTable);
