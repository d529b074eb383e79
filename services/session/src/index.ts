export { SessionWorker } from './worker.ts';
export { parseSealingKeys, Sealer, sealingKeyRecipe } from './public-ids/sealer.ts';
