/** Certificates that clients show when they connect (RFC 8446, 4.4.2), as authentication: workloads of a mesh, by SPIFFE id or by name. */
import type { X509Certificate } from 'node:crypto';
import { fault, type GatewayFault } from '@omnibus/protocol';
import { factsWithoutToken, type Verdict } from './facts.ts';
import { isName } from './names.ts';

export interface ClientCertificatesOptions {
  /** `uri`: the only URI among the subject alternative names, such as a SPIFFE ID. `commonName`: the common name of the subject. */
  readonly subject: 'uri' | 'commonName';
  /** The required beginning of the URI; a trust domain of SPIFFE is `spiffe://example.org/`. */
  readonly uriPrefix?: string | undefined;
  /** The parts of the subject that name groups. */
  readonly groups?: 'organization' | 'organizationalUnit' | undefined;
}

/** The end of a TLS connection that may have shown a certificate; a `TLSSocket`. */
export interface Peer {
  /** Whether it was signed by a configured authority, for clients, and is valid now. */
  readonly authorized: boolean;
  readonly authorizationError: Error | string | undefined;
  getPeerX509Certificate(): X509Certificate | undefined;
}

/** The issuer of all certificates: the authorities that the operator named. */
const certificateIssuer = 'omnibus:certificates';
const maxSubjectBytes = 255;
const maxGroups = 64;
const groupFields = { organization: 'O', organizationalUnit: 'OU' } as const;
/** One subject alternative name as Node writes it: one with a comma or a quote is a JSON string (RFC 5280, 4.2.1.6). */
const otherName = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g;
/** A URI without a path. */
const trustDomain = /^[a-z][a-z0-9+.-]*:\/\/[^/]+$/i;

export class ClientCertificates {
  readonly #options: ClientCertificatesOptions;
  /** The verdict for each connection, found with its first request. */
  readonly #known = new WeakMap<Peer, Verdict>();

  constructor(options: ClientCertificatesOptions) {
    // Without the slash, a trust domain would be the beginning of others: spiffe://example.org of spiffe://example.org.evil.example.
    this.#options =
      options.uriPrefix !== undefined && trustDomain.test(options.uriPrefix)
        ? { ...options, uriPrefix: `${options.uriPrefix}/` }
        : options;
  }

  /** The identity of the peer; undefined if it shows no certificate. */
  verify(peer: Peer): Verdict | undefined {
    let verdict = this.#known.get(peer);
    if (verdict === undefined) {
      const certificate = peer.getPeerX509Certificate();
      if (certificate === undefined) return undefined;
      verdict = peer.authorized ? this.#factsOf(certificate) : refusal(problemOf(peer.authorizationError));
      this.#known.set(peer, verdict);
    }
    return 'fault' in verdict || verdict.expiresAt === undefined || Date.now() < verdict.expiresAt
      ? verdict
      : refusal('it has expired');
  }

  #factsOf(certificate: X509Certificate): Verdict {
    const { subject: from, uriPrefix = '', groups: groupField } = this.#options;
    const names = certificate.toLegacyObject().subject as unknown as
      | Readonly<Record<string, string | string[] | undefined>>
      | undefined;
    const found = from === 'uri' ? urisOf(certificate.subjectAltName) : listOf(names?.['CN']);
    const [subject] = found;
    if (subject === undefined)
      return refusal(
        from === 'uri'
          ? 'it has no URI among its other names (a SPIFFE ID, for example)'
          : 'its subject has no common name',
      );
    if (found.length > 1)
      return refusal(
        `it has more than one ${from === 'uri' ? 'URI' : 'common name'}, so nobody knows which one is meant`,
      );
    if (subject === '' || !isName(subject) || Buffer.byteLength(subject) > maxSubjectBytes)
      return refusal('it names somebody by a text that is empty, too long or not printable');
    if (from === 'uri' && !subject.startsWith(uriPrefix)) return refusal(`its URI does not begin with ${uriPrefix}`);
    const groups = groupField === undefined ? [] : listOf(names?.[groupFields[groupField]]);
    if (groups.length > maxGroups || !groups.every(isName))
      return refusal(`it names more than ${maxGroups} groups, or one by a text that is not printable`);
    return factsWithoutToken(
      { issuer: certificateIssuer, subject },
      { groups, expiresAt: certificate.validToDate.getTime() },
    );
  }
}

const refusal = (why: string): { readonly fault: GatewayFault } => ({
  fault: fault('auth.invalid', `the client certificate is not accepted: ${why}`),
});

function problemOf(error: Error | string | undefined): string {
  switch (typeof error === 'string' ? error : (error as NodeJS.ErrnoException | undefined)?.code) {
    case 'CERT_HAS_EXPIRED':
      return 'it has expired';
    case 'CERT_NOT_YET_VALID':
      return 'it is not valid yet';
    case 'CERT_REVOKED':
      return 'its authority has revoked it';
    case 'CRL_HAS_EXPIRED':
      return 'the list of revoked certificates has expired (auth.clientCertificates.crlFile)';
    case 'UNABLE_TO_GET_CRL':
      return 'there is no list of revoked certificates of its authority (auth.clientCertificates.crlFile)';
    case 'INVALID_PURPOSE':
      return 'it is not meant for clients (extended key usage)';
    default:
      return 'it is not signed by an authority that is known here';
  }
}

function urisOf(otherNames: string | undefined): string[] {
  return [...(otherNames ?? '').matchAll(otherName)].flatMap(([, kind, value = '']) =>
    kind === 'URI' ? [value.startsWith('"') ? (JSON.parse(value) as string) : value] : [],
  );
}

const listOf = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
