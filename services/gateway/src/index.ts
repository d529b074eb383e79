export { startGateway } from './gateway.ts';
export type { Gateway, Role } from './gateway.ts';
export { createProgram } from './cli.ts';
export { commandTable } from './command-table.ts';
export { exits } from '@omnibus/client';
export { followShapes, jsonShapes, shapeText, withoutJson } from './json-shapes.ts';
