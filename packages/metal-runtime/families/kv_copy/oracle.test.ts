import { testFamily } from '../../test/test-family.js';
import { kvCopy } from './oracle.js';

await testFamily(kvCopy);
