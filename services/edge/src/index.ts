export { Edge } from './edge.ts';
export { serveStdioClient } from './stdio/ingress.ts';
export { SessionDoor } from './session-door.ts';
