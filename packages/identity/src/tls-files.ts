/** TLS for whoever connects: the certificate that is shown, and whose certificates clients may show. Its files are followed. */
import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type TlsOptions } from 'node:tls';
import { watch } from 'chokidar';

/** Absolute paths of PEM files. */
export interface TlsFiles {
  /** The certificate, and those between it and its authority. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Undefined where clients are not asked for a certificate. */
  readonly clients: {
    /** Authorities that sign certificates of clients. */
    readonly caFile: string;
    /** Whoever shows none is refused before it can say anything. */
    readonly isRequired: boolean;
  } | undefined;
}

export interface TlsObserver {
  /** New connections are given these from now on. */
  changed(options: TlsOptions): void;
  /** The files cannot be used as they are now; those from before stay. */
  rejected(problem: string): void;
}

/** Files that belong together are written one after the other: they are read when nothing more has come for so long. */
const settleMs = 200;

/**
 * Reads what a TLS server needs.
 * @throws {Error} in words for the operator that name the file.
 */
export function readTls({ certFile, keyFile, clients }: TlsFiles): TlsOptions {
  const cert = read('the certificate', certFile);
  const certificate = inWords(`${certFile} holds no certificate in PEM`, () => new X509Certificate(cert));
  const key = read('the key', keyFile);
  const privateKey = inWords(`${keyFile} holds no private key in PEM without a password`, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`the key ${keyFile} is not that of the certificate ${certFile}`);
  const ca = clients === undefined ? undefined : read('the authorities of clients', clients.caFile);
  if (ca !== undefined) inWords(`${clients?.caFile} holds no certificate in PEM`, () => new X509Certificate(ca));
  const options: TlsOptions = {
    cert, key,
    minVersion: 'TLSv1.2',
    ...(clients === undefined ? {} : {
      ca, requestCert: true, rejectUnauthorized: clients.isRequired,
      // Each connection proves anew who it is: a session that is resumed would be believed what was true when it began.
      secureOptions: constants.SSL_OP_NO_TICKET,
    }),
  };
  inWords(`the certificate ${certFile} cannot be used`, () => createSecureContext(options));
  return options;
}

/** Why TLS cannot be used with these files, in words for the operator; undefined where it can. */
export function tlsProblem(files: TlsFiles): string | undefined {
  try {
    readTls(files);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Follows the files, also through the symbolic links of a Kubernetes Secret. Resolves when they are followed. @returns what ends it. */
export async function followTls(files: TlsFiles, observer: TlsObserver): Promise<() => Promise<void>> {
  let later: NodeJS.Timeout | undefined;
  const reload = (): void => {
    try {
      observer.changed(readTls(files));
    } catch (error) {
      observer.rejected((error as Error).message);
    }
  };
  const watcher = watch([files.certFile, files.keyFile, ...(files.clients === undefined ? [] : [files.clients.caFile])], { ignoreInitial: true });
  watcher.on('all', () => {
    clearTimeout(later);
    later = setTimeout(reload, settleMs).unref();
  });
  await new Promise<void>((resolve) => {
    watcher.once('ready', () => resolve());
  });
  return async () => {
    clearTimeout(later);
    await watcher.close();
  };
}

function read(what: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${what} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it is not there' : String(error)}`, { cause: error });
  }
}

function inWords<Value>(problem: string, make: () => Value): Value {
  try {
    return make();
  } catch (error) {
    throw new Error(`${problem}: ${(error as Error).message}`, { cause: error });
  }
}
