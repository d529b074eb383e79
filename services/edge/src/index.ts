export { Edge } from './edge.ts';
export { StdioIngress } from './stdio/ingress.ts';
