import { testFamily } from '../../test/test-family.js';
import { columnAffine } from './oracle.js';

await testFamily(columnAffine);
