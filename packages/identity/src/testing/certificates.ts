/** An authority for tests with real certificates: made by openssl, with any lifetime. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface IssueOptions {
  /** Such as `/O=team/CN=ann`. */
  readonly subject?: string;
  /** Each such as `URI:spiffe://example.org/ann`. */
  readonly otherNames?: readonly string[];
  readonly usage?: 'clientAuth' | 'serverAuth';
  readonly until?: Date;
}

export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

const dayMs = 86_400_000;
const asn1Time = (date: Date): string => `${date.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
/** A small key takes no time. */
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export class TestAuthority implements AsyncDisposable {
  readonly folder: string;
  readonly #name: string;
  #issued = 0;
  /** It keeps a list of issued certificates, in a file. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, name: string) {
    this.folder = folder;
    this.#name = name;
  }

  static async create(name = 'authority'): Promise<TestAuthority> {
    const authority = new TestAuthority(await mkdtemp(join(tmpdir(), 'omnibus-certificates-')), name);
    await writeFile(
      authority.#path('conf'),
      [
        '[req]',
        'distinguished_name = names',
        'x509_extensions = authority',
        '[names]',
        '[authority]',
        'basicConstraints = critical, CA:true',
        'keyUsage = critical, keyCertSign, cRLSign',
        '[ca]',
        'default_ca = this',
        '[this]',
        `database = ${authority.#path('index')}`,
        `new_certs_dir = ${authority.folder}`,
        'rand_serial = yes',
        'default_md = sha256',
        'policy = any',
        'unique_subject = no',
        '[any]',
        'organizationName = optional',
        'organizationalUnitName = optional',
        'commonName = optional',
        '',
      ].join('\n'),
    );
    await writeFile(authority.#path('index'), '');
    await run('openssl', [
      'req',
      '-x509',
      ...newKey,
      '-config',
      authority.#path('conf'),
      '-subj',
      `/CN=${name}`,
      '-days',
      '2',
      '-keyout',
      authority.#path('key'),
      '-out',
      authority.caFile,
    ]);
    return authority;
  }

  get caFile(): string {
    return this.#path('pem');
  }

  ca(): Promise<string> {
    return readFile(this.caFile, 'utf8');
  }

  async issue({
    subject = '/CN=somebody',
    otherNames = [],
    usage = 'clientAuth',
    until = new Date(Date.now() + dayMs),
  }: IssueOptions = {}): Promise<Issued> {
    this.#issued += 1;
    const name = String(this.#issued);
    const path = (kind: string): string => join(this.folder, `${name}.${kind}`);
    const [certFile, keyFile] = [path('pem'), path('key')];
    await writeFile(
      path('ext'),
      `extendedKeyUsage = ${usage}\n${otherNames.length === 0 ? '' : `subjectAltName = @others\n[others]\n${otherNames.map((name, index) => name.replace(/^([A-Za-z]+):(.*)$/, `$1.${index} = $2\n`)).join('')}`}`,
    );
    await run('openssl', [
      'req',
      '-new',
      ...newKey,
      '-config',
      this.#path('conf'),
      '-subj',
      subject,
      '-keyout',
      keyFile,
      '-out',
      path('csr'),
    ]);
    this.#last = this.#last.then(() =>
      run('openssl', [
        'ca',
        '-batch',
        '-notext',
        '-config',
        this.#path('conf'),
        '-cert',
        this.caFile,
        '-keyfile',
        this.#path('key'),
        '-in',
        path('csr'),
        '-extfile',
        path('ext'),
        '-out',
        certFile,
        '-startdate',
        asn1Time(new Date(Date.now() - dayMs)),
        '-enddate',
        asn1Time(until),
      ]),
    );
    await this.#last;
    return { certFile, keyFile, cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  }

  /** Revokes a certificate, if one is given, and writes the list of all that are. @param seconds after which the list expires. @returns its file. */
  async revoke(issued?: Issued, seconds = dayMs / 1_000): Promise<string> {
    const [key, crlFile] = [this.#path('key'), this.#path('crl')];
    const ca = ['ca', '-config', this.#path('conf'), '-cert', this.caFile, '-keyfile', key];
    if (issued !== undefined) await run('openssl', [...ca, '-revoke', issued.certFile]);
    await run('openssl', [...ca, '-gencrl', '-crlsec', String(seconds), '-out', crlFile]);
    return crlFile;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true });
  }

  #path(kind: string): string {
    return join(this.folder, `${this.#name}.${kind}`);
  }
}

/** For a server on this machine. */
export const forLoopback: IssueOptions = {
  subject: '/CN=localhost',
  otherNames: ['DNS:localhost', 'IP:127.0.0.1'],
  usage: 'serverAuth',
};
