export { StandInIssuer } from './stand-in-issuer.ts';
export { forLoopback, TestAuthority } from './certificates.ts';
export type { Issued } from './certificates.ts';
export { factsWithoutToken } from '../facts.ts';
