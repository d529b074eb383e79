/** TLS of the gateway's ports: the certificate that it shows, and the authorities of client certificates. Its files are followed. */
import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type TlsOptions } from 'node:tls';
import { followFiles } from './follow-files.ts';

/** Absolute paths of PEM files. */
export interface TlsFiles {
  /** The certificate and its intermediate certificates. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Undefined where clients are not asked for a certificate. */
  readonly clients:
    | {
        /** Authorities that sign client certificates. */
        readonly caFile: string;
        /** Their lists of revoked certificates; undefined where none are checked. */
        readonly crlFile?: string | undefined;
        /** Whether a client without a certificate is refused in the handshake. */
        readonly isRequired: boolean;
      }
    | undefined;
}

export interface TlsObserver {
  /** New connections use these options from now on. */
  changed(options: TlsOptions): void;
  /** The files cannot be used as they are now, or are not followed; the previous ones stay in use. */
  rejected(problem: string): void;
}

/**
 * Reads the files of a TLS server.
 * @throws {Error} in words for the operator that name the file.
 */
export function readTls({ certFile, keyFile, clients }: TlsFiles): TlsOptions {
  const cert = read('the certificate', certFile);
  const certificate = firstIn(cert, certFile);
  const key = read('the key', keyFile);
  const privateKey = inWords(`${keyFile} holds no private key in PEM without a password`, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(`the key ${keyFile} is not that of the certificate ${certFile}`);
  const ca = clients === undefined ? undefined : read('the authorities of clients', clients.caFile);
  if (ca !== undefined && clients !== undefined) firstIn(ca, clients.caFile);
  const crl = clients?.crlFile === undefined ? undefined : listsIn(clients.crlFile);
  const options: TlsOptions = {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ...(clients === undefined
      ? {}
      : {
          ca,
          ...(crl === undefined ? {} : { crl }),
          requestCert: true,
          rejectUnauthorized: clients.isRequired,
          // Each connection proves its identity again: a resumed session would keep the facts of its beginning.
          secureOptions: constants.SSL_OP_NO_TICKET,
        }),
  };
  if (crl !== undefined)
    inWords(`${clients?.crlFile ?? ''} holds a list that cannot be read`, () => createSecureContext({ crl }));
  inWords(`the certificate ${certFile} cannot be used`, () => createSecureContext(options));
  return options;
}

/** The reason, in words for the operator, why TLS cannot be used with these files; undefined where it can. */
export function tlsProblem(files: TlsFiles): string | undefined {
  try {
    readTls(files);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Follows the files. Resolves when they are followed. @returns a function that ends this. */
export function followTls(files: TlsFiles, observer: TlsObserver): Promise<() => Promise<void>> {
  const { certFile, keyFile, clients } = files;
  const ofClients = [clients?.caFile, clients?.crlFile].filter((file) => file !== undefined);
  return followFiles([certFile, keyFile, ...ofClients], {
    changed() {
      try {
        observer.changed(readTls(files));
      } catch (error) {
        observer.rejected((error as Error).message);
      }
    },
    unfollowed: (problem) => observer.rejected(problem),
  });
}

function read(what: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(
      `${what} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it is not there' : String(error)}`,
      { cause: error },
    );
  }
}

/** A certificate in a text, with its frame (RFC 7468); one without an end is also found. */
const framed =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?(?:-----END (?:TRUSTED |X509 )?CERTIFICATE-----|$)/g;

/** All certificates of a text in PEM. @throws {Error} in words when one cannot be read: OpenSSL would leave it out, and those after it, without a word. */
export function certificatesIn(text: string): readonly X509Certificate[] {
  const all = text.match(framed) ?? [];
  return all.map((one, index) =>
    inWords(`a certificate that cannot be read, number ${index + 1} of ${all.length}`, () => new X509Certificate(one)),
  );
}

/** @throws {Error} in words when not every certificate of a file can be read, or there is none. */
function firstIn(text: string, file: string): X509Certificate {
  const [first] = inWords(`${file} holds`, () => certificatesIn(text));
  if (first === undefined) throw new Error(`${file} holds no certificate in PEM`);
  return first;
}

/** Lists of revoked certificates, of which Node reads one in each text; one without an end is also found. @throws {Error} in words when there is none. */
function listsIn(file: string): string[] {
  const lists = read('the list of revoked certificates', file).match(
    /-----BEGIN X509 CRL-----[\s\S]*?(?:-----END X509 CRL-----|$)/g,
  );
  if (lists === null) throw new Error(`${file} holds no list of revoked certificates in PEM (X509 CRL)`);
  return lists;
}

function inWords<Value>(problem: string, make: () => Value): Value {
  try {
    return make();
  } catch (error) {
    throw new Error(`${problem}: ${(error as Error).message}`, { cause: error });
  }
}
