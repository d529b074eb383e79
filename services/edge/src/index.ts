export { Boundary } from './boundary.ts';
export { Edge } from './edge.ts';
export { RequestMeter } from './request-meter.ts';
export { idsIn, parseMessage } from './parse-message.ts';
export type { ParsedBody } from './parse-message.ts';
export { serveStdioClient } from './stdio/ingress.ts';
export { readLines } from './stdio/lines.ts';
export { SessionDoor } from './session-door.ts';
