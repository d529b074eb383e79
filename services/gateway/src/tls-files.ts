/** The files of TLS for clients, as the configuration names them. */
import { resolve } from 'node:path';
import type { Config } from '@omnibus/config';
import type { TlsFiles } from '@omnibus/identity';

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
  return files === undefined ? undefined : (await import('@omnibus/identity')).tlsProblem(files);
}

/** The same for the admin port, where no certificate is required: probes have none. @returns undefined where it speaks without TLS. */
export function adminTlsFilesOf(config: Config, baseFolder: string): TlsFiles | undefined {
  const files = config.tls?.admin === true ? tlsFilesOf(config, baseFolder) : undefined;
  return files === undefined || files.clients === undefined ? files : { ...files, clients: { ...files.clients, isRequired: false } };
}
