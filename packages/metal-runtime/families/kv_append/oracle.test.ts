import { testFamily } from '../../test/test-family.js';
import { kvAppend } from './oracle.js';

await testFamily(kvAppend);
