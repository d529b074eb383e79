/** TLS towards one server (`tls` of its configuration): the certificate that the gateway shows there, and the authorities that it believes. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import type { ServerConfig } from '@omnibus/config';

export type TlsMaterial = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;

export class ServerTls {
  readonly server: string;
  /** Host and port of the server: no other gets the certificate. */
  readonly host: string;
  /** Differs where the configuration differs. */
  readonly id: string;
  readonly #options: NonNullable<ServerConfig['tls']>;
  readonly #baseFolder: string;

  /** @param server its name. @param url its address. @param baseFolder from which relative paths start. */
  constructor(server: string, url: string, options: NonNullable<ServerConfig['tls']>, baseFolder: string) {
    const { hostname, port } = new URL(url);
    this.server = server;
    this.host = hostAndPort(hostname, port);
    this.#options = options;
    this.#baseFolder = baseFolder;
    this.id = hash('sha256', JSON.stringify([this.host, options, baseFolder]), 'base64url');
  }

  /** @returns undefined where the server has no `tls`. */
  static of(
    server: string,
    { url, tls }: Pick<ServerConfig, 'url' | 'tls'>,
    baseFolder: string,
  ): ServerTls | undefined {
    return url === undefined || tls === undefined ? undefined : new ServerTls(server, url, tls, baseFolder);
  }

  /** Reads the files as they are now. @throws {Error} in words for the operator. */
  read(): TlsMaterial {
    const { ca, caFile, cert, certFile, key, keyFile } = this.#options;
    const material = {
      ca: ca ?? this.#fileOf('caFile', caFile),
      cert: cert ?? this.#fileOf('certFile', certFile),
      key: key ?? this.#fileOf('keyFile', keyFile),
    };
    return Object.fromEntries(Object.entries(material).filter(([, text]) => text !== undefined));
  }

  #fileOf(option: string, path: string | undefined): string | undefined {
    if (path === undefined) return undefined;
    try {
      return readFileSync(resolve(this.#baseFolder, path), 'utf8');
    } catch (error) {
      throw new Error(
        `\`tls.${option}\`, ${path}, cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`,
        { cause: error },
      );
    }
  }
}

/** @param port empty for that of https. */
export function hostAndPort(hostname: string, port: string): string {
  return `${hostname}:${port === '' ? '443' : port}`;
}
