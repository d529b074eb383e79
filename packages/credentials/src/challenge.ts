/** The challenge of a server that refuses a request's credentials (RFC 6750, 3; RFC 9728, 5.1). */

export interface Challenge {
  /** Address of the metadata in which the server names the issuers that it trusts. */
  readonly resourceMetadata: string | undefined;
  readonly scope: string | undefined;
  readonly error: string | undefined;
  /** Whether only tokens are accepted that are bound to a key (RFC 9449, 7.1): the server names the scheme DPoP and not Bearer. */
  readonly isProofWanted?: boolean;
}

/** The error of a server that demands more rights (RFC 6750, 3.1). */
export const insufficientScope = 'insufficient_scope';

const none: Challenge = { resourceMetadata: undefined, scope: undefined, error: undefined };
/** Bound on the characters of the header that are parsed. */
const maxCharacters = 8_192;

/** @param header `WWW-Authenticate` of the response, unparsed. */
export function readChallenge(header: string | readonly string[] | undefined): Challenge {
  const text = [header ?? []].flat().join(', ').slice(0, maxCharacters);
  const start = /(?:^|,)\s*(?:bearer|dpop)(?:\s+|,|$)/i.exec(text);
  if (start === null) return none;
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain] of text
    .slice(start.index)
    .matchAll(/([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi)) {
    const key = name.toLowerCase();
    if (!parameters.has(key))
      parameters.set(key, quoted === undefined ? (plain ?? '') : quoted.replace(/\\(.)/g, '$1'));
  }
  const isProofWanted = /(?:^|,)\s*dpop(?:\s+|,|$)/i.test(text) && !/(?:^|,)\s*bearer(?:\s+|,|$)/i.test(text);
  return {
    ...(isProofWanted ? { isProofWanted } : {}),
    resourceMetadata: parameters.get('resource_metadata'),
    scope: parameters.get('scope'),
    error: parameters.get('error'),
  };
}
