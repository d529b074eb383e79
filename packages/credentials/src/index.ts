/** How the gateway obtains credentials for servers. The package talks to issuers, and knows neither connections to servers nor the bus. */
export { readChallenge, type Challenge } from './challenge.ts';
export { CredentialProblem, isLoopback, isTrustworthy, type Fetch } from './outbound.ts';
export type { HeaderSource, SentHeaders } from './source.ts';
export { beginSignIn, connectionAt, finishSignIn, revokeAtIssuer, type Begun, type Connection, type SignInOptions } from './sign-in.ts';
export { Nobody } from './nobody.ts';
export { UserTokens } from './user.ts';
export { Envelopes, parseVaultKeys, type Place } from './vault/envelope.ts';
export { FileStore } from './vault/file-store.ts';
export { placeOfSecret, Vault, type VaultStore } from './vault/vault.ts';
export { WorkloadTokens } from './workload.ts';
