/** The certificate and key files for TLS towards clients, from the configuration. */
import { resolve } from 'node:path';
import { tlsProblem, type TlsFiles } from './tls-files.ts';

/** The options of the configuration that name the files. */
interface TlsSettings {
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly admin?: boolean } | undefined;
  readonly auth?:
    | 'none'
    | {
        readonly clientCertificates?:
          | { readonly caFile: string; readonly crlFile?: string | undefined; readonly required: boolean }
          | undefined;
      }
    | undefined;
}

/** @returns absolute paths; undefined where clients connect without TLS. */
export function tlsFilesOf({ tls, auth }: TlsSettings, baseFolder: string): TlsFiles | undefined {
  if (tls === undefined) return undefined;
  const certificates = auth === undefined || auth === 'none' ? undefined : auth.clientCertificates;
  return {
    certFile: resolve(baseFolder, tls.certFile),
    keyFile: resolve(baseFolder, tls.keyFile),
    clients:
      certificates === undefined
        ? undefined
        : {
            caFile: resolve(baseFolder, certificates.caFile),
            crlFile: certificates.crlFile === undefined ? undefined : resolve(baseFolder, certificates.crlFile),
            isRequired: certificates.required,
          },
  };
}

/** Why these files cannot be used, in words for the operator; undefined where they can. */
export async function tlsFilesProblem(config: TlsSettings, baseFolder: string): Promise<string | undefined> {
  const files = tlsFilesOf(config, baseFolder);
  return files === undefined ? undefined : tlsProblem(files);
}

/** The files for TLS at the admin port. It never requires a client certificate, since probes have none. @returns undefined where it speaks without TLS. */
export function adminTlsFilesOf(config: TlsSettings, baseFolder: string): TlsFiles | undefined {
  const files = config.tls?.admin === true ? tlsFilesOf(config, baseFolder) : undefined;
  return files === undefined || files.clients === undefined
    ? files
    : { ...files, clients: { ...files.clients, isRequired: false } };
}
