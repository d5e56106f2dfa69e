import { testFamily } from '../../test/test-family.js';
import { rmsNorm } from './oracle.js';

await testFamily(rmsNorm);
