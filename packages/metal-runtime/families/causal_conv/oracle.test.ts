import { testFamily } from '../../test/test-family.js';
import { causalConv } from './oracle.js';

await testFamily(causalConv);
