/** Connections of clients that were let in by a certificate, which end when its authority is no longer trusted, or has revoked it. */
import type { X509Certificate } from 'node:crypto';
import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { certificatesIn } from '@omnibus/identity';

export class TlsClients {
  /** Connections with an accepted certificate. */
  readonly #sockets = new Set<TLSSocket>();
  #trusted: readonly X509Certificate[];

  /**
   * @param server that asks clients for certificates.
   * @param ca certificates of the trusted authorities, PEM.
   */
  constructor(server: Server, ca: string) {
    this.#trusted = certificatesIn(ca);
    server.on('secureConnection', (socket) => {
      if (!socket.authorized) return;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * When an authority is not trusted any more, ends the connections of clients with a certificate that no other one has signed. The platform does not show the certificates
   * between that of a client and its authority, so clients with such ones have to connect again.
   * @param ca certificates of the trusted authorities from now on, PEM.
   */
  trust(ca: string): void {
    const trusted = certificatesIn(ca);
    const isAnyGone = this.#trusted.some(({ fingerprint256 }) =>
      trusted.every((authority) => authority.fingerprint256 !== fingerprint256),
    );
    this.#trusted = trusted;
    if (!isAnyGone) return;
    for (const socket of this.#sockets) {
      const certificate = socket.getPeerX509Certificate();
      if (
        certificate !== undefined &&
        !trusted.some((authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey))
      )
        socket.destroy();
    }
  }

  /** Ends the connections of clients with a revoked certificate. @param lists of revoked certificates, PEM. */
  revoke(lists: readonly string[]): void {
    const read = lists.map((list) => Buffer.from(list.replaceAll(/-----[^-]+-----/g, ''), 'base64'));
    for (const socket of this.#sockets) {
      const serial = socket.getPeerX509Certificate()?.serialNumber;
      if (serial !== undefined && read.some((list) => hasEntry(list, serial))) socket.destroy();
    }
  }
}

/** Tags of the time of a revocation in DER: UTCTime and GeneralizedTime. */
const timeTags = [0x17, 0x18];

/**
 * Whether a list has an entry for a certificate: its serial number, followed by the time of the revocation (RFC 5280, 5.1). The platform checks a list in the handshake
 * alone. If other bytes of the list look like an entry, a client has to connect again, and no more.
 * @param serial in hexadecimal digits.
 */
function hasEntry(list: Buffer, serial: string): boolean {
  const digits = serial.replace(/^(?:00)+(?=..)/, '');
  const bytes = Buffer.from(/^[89a-f]/i.test(digits) ? `00${digits}` : digits, 'hex');
  return timeTags.some((tag) => list.includes(Buffer.from([0x02, bytes.length, ...bytes, tag])));
}
