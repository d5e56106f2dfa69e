import { testFamily } from '../../test/test-family.js';
import { elementwise } from './oracle.js';

await testFamily(elementwise);
