export { StandInIssuer } from './stand-in-issuer.ts';
