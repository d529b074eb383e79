export { maxQueryLength, ToolIndex, type Meaning } from './tool-index.ts';
export { parametersOf, type SearchableTool } from './fields.ts';
export { packed, questionTexts, toolText, toolVectors, ToolVectors, type PackedVector } from './meaning.ts';
export type { EmbeddingModel } from './models/embedding-model.ts';
export { openModel } from './models/open-model.ts';
export { runtimes, tokenizerPackage, writeManifest, type Manifest } from './models/folder.ts';
