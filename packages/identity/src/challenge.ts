/** The `WWW-Authenticate` of a refused request (RFC 6750, 3; RFC 9449, 7.1). */
import type { ErrorReason } from '@omnibus/protocol';
import { proofAlgorithms } from './possession.ts';

/** Error codes of RFC 6750, 3.1; there is none where no credential was sent. */
const errorCodes: Partial<Record<ErrorReason, string>> = {
  'auth.invalid': 'invalid_token',
  'auth.scope': 'insufficient_scope',
  'auth.endpoint': 'insufficient_scope',
  'auth.query': 'invalid_request',
};
/** Error codes of RFC 9449, 7.1 and 9, for the scheme DPoP. */
const proofErrors: Partial<Record<ErrorReason, string>> = {
  'auth.proof': 'invalid_dpop_proof',
  'auth.nonce': 'use_dpop_nonce',
};
/** Characters that are not allowed in an `error_description`. */
const unquotable = /[^\x20\x21\x23-\x5B\x5D-\x7E]/g;

/**
 * The value of the header.
 * @param refusal its reason, and the problem of the credential, in words that do not repeat it.
 * @param parameters further names and values, such as `resource_metadata` (RFC 9728, 5.1); values have no quotes.
 */
export function bearerChallenge(
  { reason, message }: { readonly reason: ErrorReason; readonly message: string },
  parameters: readonly (readonly [name: string, value: string])[],
): string {
  const proofError = proofErrors[reason];
  const error = proofError ?? errorCodes[reason];
  const all = [
    ...(proofError === undefined ? [] : ([['algs', proofAlgorithms.join(' ')]] as const)),
    ...parameters,
    ...(error === undefined
      ? []
      : ([
          ['error', error],
          ['error_description', message.replaceAll(unquotable, "'")],
        ] as const)),
  ];
  return `${proofError === undefined ? 'Bearer' : 'DPoP'} ${all.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
}
