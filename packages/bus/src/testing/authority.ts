/** A certificate authority for tests, with the certificates that it signs, as PEM files. */
// The library of certificates registers its parts by metadata, and cannot be loaded without this.
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type X509Certificate,
} from '@peculiar/x509';
import { webcrypto } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 24 * 60 * 60_000;

/** Paths of files. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

export class Authority {
  /** Path of its own certificate. */
  readonly caFile: string;
  readonly #folder: string;
  readonly #certificate: X509Certificate;
  readonly #keys: webcrypto.CryptoKeyPair;

  static async create(): Promise<Authority> {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-authority-'));
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=Test authority',
      keys,
      signingAlgorithm: algorithm,
      notBefore: new Date(Date.now() - dayMs),
      notAfter: new Date(Date.now() + dayMs),
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    });
    const authority = new Authority(folder, certificate, keys);
    await writeFile(authority.caFile, certificate.toString('pem'));
    return authority;
  }

  private constructor(folder: string, certificate: X509Certificate, keys: webcrypto.CryptoKeyPair) {
    this.caFile = join(folder, 'ca.pem');
    this.#folder = folder;
    this.#certificate = certificate;
    this.#keys = keys;
  }

  /**
   * Signs a certificate.
   * @param hosts names or addresses that the certificate is for.
   * @param days of validity from now on; a negative number makes an expired certificate.
   */
  async sign(
    name: string,
    hosts: readonly { readonly type: 'dns' | 'ip'; readonly value: string }[],
    days = 1,
  ): Promise<Certificate> {
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: algorithm,
      notBefore: new Date(Date.now() - 2 * dayMs),
      notAfter: new Date(Date.now() + days * dayMs),
      extensions: [new SubjectAlternativeNameExtension([...hosts])],
    });
    const [certFile, keyFile] = [join(this.#folder, `${name}.pem`), join(this.#folder, `${name}.key`)];
    await writeFile(certFile, certificate.toString('pem'));
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
    await writeFile(
      keyFile,
      `-----BEGIN PRIVATE KEY-----\n${key.match(/.{1,64}/g)?.join('\n')}\n-----END PRIVATE KEY-----\n`,
    );
    return { certFile, keyFile };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
