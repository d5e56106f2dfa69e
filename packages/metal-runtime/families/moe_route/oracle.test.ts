import { testFamily } from '../../test/test-family.js';
import { moeRoute } from './oracle.js';

await testFamily(moeRoute);
