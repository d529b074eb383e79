export { startGateway } from './compose.ts';
export type { Gateway, Role } from './compose.ts';
export { createProgram } from './cli.ts';
export { commandTable } from './command-table.ts';
export { exits } from './exit-codes.ts';
export { followShapes, jsonShapes, shapeText, withoutJson } from './json-shapes.ts';
