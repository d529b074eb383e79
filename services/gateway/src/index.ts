export { startGateway } from './compose.ts';
export type { Gateway, Role } from './compose.ts';
