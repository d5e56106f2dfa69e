import { testFamily } from '../../test/test-family.js';
import { rope } from './oracle.js';

await testFamily(rope);
