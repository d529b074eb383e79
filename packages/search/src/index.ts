export { maxQueryLength, ToolIndex, type Found } from './tool-index.ts';
export { parametersOf, type SearchableTool } from './fields.ts';
