export { argmax, compare, compareRows, type Difference, worst } from './compare.js';
export { encoderSection, HIGH_TOLERANCE } from './encoder-section.js';
export { openReference, type Reference } from './open-reference.js';
export {
  judgedSection,
  reportOf,
  skippedSection,
  type VerifyReport,
  type VerifySection,
} from './report.js';
