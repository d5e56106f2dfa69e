import { testFamily } from '../../test/test-family.js';
import { segmentAttention } from './oracle.js';

await testFamily(segmentAttention);
