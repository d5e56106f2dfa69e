export { type MixtureConfig, mixtureConfig } from './config.js';
export { type ExpertLayout, expertLayout } from './layout.js';
export { chooseExperts, mixtureFeedForward } from './mixture-feed-forward.js';
export { mixtureOfExperts } from './mixture-of-experts.js';
export { type LoadedMixture, loadMixture, type MixtureWeights } from './weights.js';
