/** The certificate and key files for TLS towards clients, from the configuration. */
import { resolve } from 'node:path';
import type { Config } from '@omnibus/config';
import type { TlsFiles } from '@omnibus/identity';

/** @returns absolute paths; undefined where clients connect without TLS. */
export function tlsFilesOf({ tls, auth }: Config, baseFolder: string): TlsFiles | undefined {
  if (tls === undefined) return undefined;
  const certificates = auth === undefined || auth === 'none' ? undefined : auth.clientCertificates;
  return {
    certFile: resolve(baseFolder, tls.certFile),
    keyFile: resolve(baseFolder, tls.keyFile),
    clients:
      certificates === undefined
        ? undefined
        : { caFile: resolve(baseFolder, certificates.caFile), isRequired: certificates.required },
  };
}

/** Why these files cannot be used, in words for the operator; undefined where they can. */
export async function tlsFilesProblem(config: Config, baseFolder: string): Promise<string | undefined> {
  const files = tlsFilesOf(config, baseFolder);
  return files === undefined ? undefined : (await import('@omnibus/identity')).tlsProblem(files);
}

/** The files for TLS at the admin port. It never requires a client certificate, since probes have none. @returns undefined where it speaks without TLS. */
export function adminTlsFilesOf(config: Config, baseFolder: string): TlsFiles | undefined {
  const files = config.tls?.admin === true ? tlsFilesOf(config, baseFolder) : undefined;
  return files === undefined || files.clients === undefined
    ? files
    : { ...files, clients: { ...files.clients, isRequired: false } };
}
