/** TLS towards one server: the client certificate, and the trusted authorities. */
import { z } from 'zod';
import { optionalText } from './plain-options.ts';

const pem = z.string().optional();

export const serverTlsSchema = z.strictObject({
  caFile: optionalText.describe(
    "File with the certificates of the authorities that may have signed the server's certificate, PEM. No other authorities are believed then. Default: the authorities that Node knows.",
  ),
  ca: pem.describe(
    'These certificates themselves, by reference, instead of `caFile`: "${vault:secret/team/ledger#ca}".',
  ),
  certFile: optionalText.describe(
    'File with the certificate that the gateway shows to the server, followed by any intermediate certificates, PEM.',
  ),
  cert: pem.describe('This certificate itself, by reference, instead of `certFile`.'),
  keyFile: optionalText.describe('File with the private key of the certificate, PEM, without a password.'),
  key: pem.describe('This key itself, by reference, instead of `keyFile`: "${vault:secret/team/ledger#key}". Secret.'),
});

type ServerTls = z.output<typeof serverTlsSchema>;

export function serverTlsProblem(
  url: string | undefined,
  { ca, caFile, cert, certFile, key, keyFile }: ServerTls,
): string | undefined {
  if (url === undefined || !/^(https|wss):/.test(url))
    return 'TLS is spoken with a server at a `url` that begins with https:// or wss://';
  for (const [text, path, option] of [
    [ca, caFile, 'ca'],
    [cert, certFile, 'cert'],
    [key, keyFile, 'key'],
  ] as const) {
    if (text !== undefined && path !== undefined) return `expected either \`${option}\` or \`${option}File\``;
  }
  return ((cert ?? certFile) === undefined) === ((key ?? keyFile) === undefined)
    ? undefined
    : 'a certificate is shown with its private key: set both, or neither';
}
