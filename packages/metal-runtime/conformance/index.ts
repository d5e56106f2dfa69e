export { FAMILIES } from '../families/oracles.js';
