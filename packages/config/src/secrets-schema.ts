/** The part of the configuration about the secret store that `${vault:…}` leads to. */
import { z } from 'zod';
import { isLoopback } from './loopback.ts';
import { duration, nonEmpty, optionalText } from './plain-options.ts';

const mount = (fallback: string) =>
  z
    .string()
    .regex(/^[^\s/?#][^\s?#]*$/, {
      error: 'expected the path of an auth method, such as "kubernetes", without "auth/"',
    })
    .default(fallback);

/** Whether a token may be sent there: over TLS, or to this machine. */
export function isStoreAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (username !== '' || password !== '' || search !== '' || hash !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

const vault = z
  .strictObject({
    address: z
      .string()
      .refine(isStoreAddress, { error: 'expected an https:// address, or one of this machine' })
      .optional()
      .describe(
        'Address of the store: Vault, OpenBao, or whatever speaks their HTTP API, such as "https://vault.example.com:8200". Default: the environment variable VAULT_ADDR.',
      ),
    namespace: z
      .string()
      .regex(/^[\x21-\x7E]{1,512}$/, { error: 'expected the path of a namespace, such as "team-a/"' })
      .optional()
      .describe('The namespace, in stores that have them. Default: the environment variable VAULT_NAMESPACE.'),
    token: optionalText.describe(
      'The token for requests to the store. The gateway renews it if the store allows that. Give at most one of `token`, `tokenFile`, `kubernetes` and `appRole`. Default: the environment variable VAULT_TOKEN. Secret.',
    ),
    tokenFile: optionalText.describe(
      'A file with the token, which another program renews, such as an agent of the store. The gateway reads it before each request.',
    ),
    kubernetes: z
      .strictObject({
        role: nonEmpty.describe('The role at the auth method.'),
        mount: mount('kubernetes').describe('Path of the auth method in the store.'),
        tokenFile: nonEmpty
          .default('/var/run/secrets/kubernetes.io/serviceaccount/token')
          .describe('The file with the token of the service account. It is read for each login.'),
      })
      .optional()
      .describe('Logs in with the token of the service account that the gateway runs as.'),
    appRole: z
      .strictObject({
        roleId: nonEmpty.describe('The id of the role.'),
        secretId: optionalText.describe('The secret id of the role. Secret.'),
        secretIdFile: optionalText.describe('A file with the secret id. It is read for each login.'),
        mount: mount('approle').describe('Path of the auth method in the store.'),
      })
      .optional()
      .describe('Logs in by AppRole, with `secretId`, `secretIdFile`, or neither where the role asks for none.'),
    kv: z
      .enum(['auto', 'v1', 'v2'])
      .default('auto')
      .describe(
        'The version of the key-value engines. auto: the gateway asks the store about each mount (`sys/internal/ui/mounts`), as `vault kv get` does. v1, v2: it does not ask, and the first part of a path is the mount.',
      ),
    caFile: optionalText.describe(
      'File with the certificates of the authority that signed that of the store, PEM. Default: the environment variable VAULT_CACERT, else the authorities that Node knows.',
    ),
    timeout: duration('5s').describe('Time that the store has to answer one request.'),
    patience: duration('15s').describe(
      'How long a start or reload waits for the store while it cannot be reached, is sealed or is overloaded. Then servers that need it stay down, or keep the value that was read last.',
    ),
    refresh: duration('5m').describe(
      'While the gateway runs, it reads secrets again after this time, and reconnects servers whose secrets have changed. 0: only with `omnibus reload` or a changed file. It retries failed reads sooner.',
    ),
  })
  .superRefine(({ token, tokenFile, kubernetes, appRole }, context) => {
    const given = Object.entries({ token, tokenFile, kubernetes, appRole })
      .filter(([, value]) => value !== undefined)
      .map(([option]) => option);
    if (given.length > 1)
      context.addIssue({
        code: 'custom',
        message: 'expected at most one of `token`, `tokenFile`, `kubernetes` and `appRole`',
        path: [given[1] as string],
      });
    if (appRole?.secretId !== undefined && appRole.secretIdFile !== undefined)
      context.addIssue({
        code: 'custom',
        message: 'expected either `secretId` or `secretIdFile`',
        path: ['appRole', 'secretIdFile'],
      });
  });

export const secretsSchema = z
  .strictObject({
    vault: vault
      .prefault({})
      .describe(
        'The store that references such as `${vault:secret/team/github#token}` lead to (docs/how-to/credentials.md). The gateway connects to it only if there are such references. A running gateway follows changes.',
      ),
  })
  .prefault({});

/** Access to the secret store, with defaults. */
export type StoreSettings = z.output<typeof vault>;
