/** How the gateway obtains credentials for servers. The package talks to issuers, and knows neither connections to servers nor the bus. */
export { insufficientScope, readChallenge, type Challenge } from './challenge.ts';
export { issuersNamed } from './discovery.ts';
export { CredentialProblem, isLoopback, type Fetch } from './outbound.ts';
export type { HeaderSource, SentHeaders } from './source.ts';
export {
  beginSignIn,
  connectionAt,
  finishSignIn,
  issuerHost,
  revokeAtIssuer,
  type Begun,
  type Connection,
  type SignInOptions,
} from './sign-in.ts';
export { openAnswer, sealAnswer } from './sealed-answer.ts';
export { byIdentityAssertion, byTokenExchange, type Grant } from './grants.ts';
export { NoCredentials } from './no-credentials.ts';
export { Prover } from './proof-of-possession.ts';
export { sealToken, TokenReceiver } from './sealed-token.ts';
export { clientOf } from './token-request.ts';
export { UserTokens, type TokensChange } from './user.ts';
export { Envelopes, type Place } from './vault/envelope.ts';
export { desktopEnvironment } from './desktop-environment.ts';
export { FileStore } from './vault/file-store.ts';
export { KeyRing, parseVaultKeys, type VaultKeys } from './vault/key-ring.ts';
export { placeOfSecret, Vault, type Lost, type Resealed, type VaultStore } from './vault/vault.ts';
export { OwnKeys } from './vault/own-keys.ts';
export type { VaultOperations, VaultReport } from './vault/operations.ts';
export { WorkloadTokens } from './workload.ts';
