import { testFamily } from '../../test/test-family.js';
import { moeLinear } from './oracle.js';

await testFamily(moeLinear);
