import { testFamily } from '../../test/test-family.js';
import { conv2d } from './oracle.js';

await testFamily(conv2d);
