import { testFamily } from '../../test/test-family.js';
import { attention } from './oracle.js';

await testFamily(attention);
