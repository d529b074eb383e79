/** The files of TLS for clients, as the configuration names them. */
import { resolve } from 'node:path';
import type { Config } from '@omnibus/config';
import type { TlsFiles } from '@omnibus/edge';

/** @returns undefined where clients speak without TLS. */
export function tlsFilesOf({ tls, auth }: Config, baseFolder: string): TlsFiles | undefined {
  if (tls === undefined) return undefined;
  const certificates = auth === undefined || auth === 'none' ? undefined : auth.clientCertificates;
  return {
    certFile: resolve(baseFolder, tls.certFile), keyFile: resolve(baseFolder, tls.keyFile),
    clients: certificates === undefined ? undefined : { caFile: resolve(baseFolder, certificates.caFile), isRequired: certificates.required },
  };
}

/** Why TLS cannot be used with them, in words for the operator. */
export async function tlsFilesProblem(config: Config, baseFolder: string): Promise<string | undefined> {
  const files = tlsFilesOf(config, baseFolder);
  return files === undefined ? undefined : (await import('@omnibus/edge')).tlsProblem(files);
}
