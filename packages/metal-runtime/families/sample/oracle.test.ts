import { testFamily } from '../../test/test-family.js';
import { sample } from './oracle.js';

await testFamily(sample);
