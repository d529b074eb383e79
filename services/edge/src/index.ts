export { Edge } from './edge.ts';
