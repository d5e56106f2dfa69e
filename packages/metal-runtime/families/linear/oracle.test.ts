import { testFamily } from '../../test/test-family.js';
import { linear } from './oracle.js';

await testFamily(linear);
