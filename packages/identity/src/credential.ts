import { fault, type GatewayFault } from '@omnibus/protocol';

/** The parts of a request that are used before anything in it is trusted. */
export interface Request {
  readonly headers: {
    readonly authorization?: string | undefined;
    readonly [name: string]: string | string[] | undefined;
  };
  /** Headers as they came (`rawHeaders` of Node): names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly method?: string | undefined;
}

const scheme = 'bearer ';
const proofScheme = 'dpop ';
/** Characters that no token contains (RFC 6750, 2.1). Whether the rest is valid is checked elsewhere. */
const strange = /[\s,"]/;

/**
 * The credential of a request (RFC 6750, 2.1); undefined when it has none. If there are two, a proxy in front may have checked the other one, so neither is
 * accepted.
 */
export function credentialOf({
  headers: { authorization },
  rawHeaders,
}: Request): string | undefined | { readonly fault: GatewayFault } {
  if (authorization === undefined) return undefined;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  if (count > 1) return { fault: fault('auth.invalid', 'there is more than one Authorization header') };
  const used = [scheme, proofScheme].find((each) => authorization.slice(0, each.length).toLowerCase() === each);
  const token = used === undefined ? '' : authorization.slice(used.length).trim();
  return token !== '' && !strange.test(token)
    ? token
    : {
        fault: fault(
          'auth.invalid',
          'the Authorization header must be "Bearer" (or "DPoP"), a space and one token or API key',
        ),
      };
}

/** Whether a request says that its token is bound to a key (RFC 9449, 7.1). */
export function saysBound({ headers: { authorization = '' } }: Request): boolean {
  return authorization.slice(0, proofScheme.length).toLowerCase() === proofScheme;
}

const secretParameters: ReadonlySet<string> = new Set([
  'access_token',
  'token',
  'id_token',
  'api_key',
  'api-key',
  'apikey',
  'x-api-key',
  'authorization',
  'bearer',
]);
/** An API key of the gateway, or a signed token, whatever the parameter is called, and whatever stands before it. */
const secret = /(^|[^\w-])(omk_[0-9a-f]+_|eyJ[\w-]*\.eyJ[\w-]*\.)/i;

/** A credential in an address ends up in logs and histories, so it is refused (OAuth 2.1, 5.1.2; MCP authorization, Token Requirements). */
export function queryProblem(url: string): GatewayFault | undefined {
  const start = url.indexOf('?');
  // Names may be percent-encoded.
  return start >= 0 &&
    [...new URLSearchParams(url.slice(start))].some(
      ([name, value]) => secretParameters.has(name.toLowerCase()) || secret.test(value) || secret.test(name),
    )
    ? fault('auth.query')
    : undefined;
}
