import { testFamily } from '../../test/test-family.js';
import { layerNorm } from './oracle.js';

await testFamily(layerNorm);
