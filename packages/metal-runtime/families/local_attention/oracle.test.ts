import { testFamily } from '../../test/test-family.js';
import { localAttention } from './oracle.js';

await testFamily(localAttention);
