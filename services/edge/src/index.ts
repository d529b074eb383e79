export { Boundary } from './requests/boundary.ts';
export { Edge } from './edge.ts';
export type { Site } from './http/site.ts';
export { RequestMeter } from './requests/request-meter.ts';
export { idsIn, parseMessage } from './requests/parse-message.ts';
export type { ParsedBody } from './requests/parse-message.ts';
export { serveStdioClient } from './stdio/ingress.ts';
export { readLines } from './stdio/lines.ts';
export { Delivery } from './delivery/delivery.ts';
