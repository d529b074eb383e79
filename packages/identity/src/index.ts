export { bearerChallenge } from './challenge.ts';
export { directoryKeyOf, DirectoryGroups, type DirectorySettings, type StoredDirectory } from './directory-groups.ts';
export { Authenticator } from './authenticator.ts';
export type { AuthenticatorOptions } from './authenticator.ts';
export { approvalObstacle, groupNames, isApprover, isNamed } from './approvers.ts';
export type { Approvable } from './approvers.ts';
export {
  areElsewhere,
  canonical,
  claimAt,
  fewerGroups,
  maxActors,
  requireProblem,
  secondsOf,
  withoutNulls,
} from './issuers/claims.ts';
export { Issuer, type IssuerOptions } from './issuers/issuer.ts';
export { followFiles } from './follow-files.ts';
export { isName, noName } from './names.ts';
export { Networks } from './networks.ts';
export { issuerProblem, KeySet, KeysUnavailable } from './issuers/key-set.ts';
export { principalOf } from './facts.ts';
export { proofAlgorithms, type PossessionOptions } from './possession.ts';
export { Proofs } from './proofs.ts';
export { issuerClaim, OwnTokens, recordClaim, toldClaim, type OwnServer } from './own-tokens.ts';
export type { Facts, Subject, Verdict } from './facts.ts';
export { certificatesIn, followTls, readTls, tlsProblem } from './tls-files.ts';
export type { TlsFiles } from './tls-files.ts';
export { formatKeys, isKey, newKey, parseKeys } from './key-file.ts';
export type { KeyRecord } from './key-file.ts';
export { parseSecretYaml, unwrittenProblem } from './secret-yaml.ts';
export { parseSealingKeys, sealingKeyRecipe } from './sealing-keys.ts';
export type { SealingKeys } from './sealing-keys.ts';
export { adminTlsFilesOf, tlsFilesOf, tlsFilesProblem } from './configured-tls.ts';
