export { Authenticator } from './authenticator.ts';
export type { AuthenticatorOptions } from './authenticator.ts';
export { Proofs } from './proofs.ts';
export type { OwnServer } from './own-tokens.ts';
export type { Facts, Verdict } from './facts.ts';
export { followTls, readTls, tlsProblem } from './tls-files.ts';
export type { TlsFiles } from './tls-files.ts';
export { formatKeys, newKey, parseKeys } from './key-file.ts';
export type { KeyRecord } from './key-file.ts';
