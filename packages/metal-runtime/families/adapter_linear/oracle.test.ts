import { testFamily } from '../../test/test-family.js';
import { adapterLinear } from './oracle.js';

await testFamily(adapterLinear);
