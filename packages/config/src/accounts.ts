/** The account for calls of a server, by the configuration, in words for operators. */
import { hasTemplates } from '@omnibus/protocol';
import type { Config, ServerConfig } from './schema.ts';
import { isForOneUser } from './users.ts';

/** @returns undefined where nothing is sent that a server could take for an account. */
// oxlint-disable-next-line complexity -- a table: one case for each kind of credentials
export function accountOf(
  { credentials, headers, tls }: Pick<ServerConfig, 'credentials' | 'headers' | 'tls'>,
  gateway: Pick<Config, 'auth' | 'listen' | 'publicUrl'>,
): string | undefined {
  const at =
    credentials === undefined || credentials.kind === 'aws' || credentials.issuer === undefined
      ? 'the issuer that the server names'
      : credentials.issuer;
  switch (credentials?.kind) {
    case undefined:
      if (hasTemplates(headers)) return 'that of each caller: `headers` name him';
      if (Object.keys(headers).length > 0) return 'one for everybody: `headers`';
      return tls?.cert === undefined && tls?.certFile === undefined
        ? undefined
        : "the gateway's: the certificate of `tls`";
    case 'client':
      return `the gateway's: client ${credentials.clientId} of ${at}`;
    case 'aws':
      return `the gateway's: requests signed for ${credentials.service} in ${credentials.region}${credentials.profile === undefined ? '' : `, profile ${credentials.profile}`}`;
    case 'oauth':
      return `${isForOneUser(gateway) ? 'yours' : "each user's"}: by a sign-in at ${at}`;
    case 'exchange':
      return `each user's: by exchange of his token at ${at}`;
    case 'enterprise': {
      const { auth } = gateway;
      const signIn = auth === undefined || auth === 'none' ? undefined : auth.server?.signIn;
      const provider = credentials.identityProvider?.issuer ?? signIn?.issuer ?? 'the identity provider';
      return `${isForOneUser(gateway) ? 'yours' : "each user's"}: by an assertion of ${provider}`;
    }
  }
}
