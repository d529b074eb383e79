export { SessionWorker } from './worker.ts';
export { parseSealingKeys, Sealer, sealingKeyRecipe } from './sealer.ts';
