import { testFamily } from '../../test/test-family.js';
import { embed } from './oracle.js';

await testFamily(embed);
