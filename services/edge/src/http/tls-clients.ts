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
    if (this.#sockets.size === 0) return;
    const revoked = new Set(lists.flatMap(serialsIn));
    for (const socket of this.#sockets) {
      const serial = socket.getPeerX509Certificate()?.serialNumber;
      if (serial !== undefined && revoked.has(plain(serial))) socket.destroy();
    }
  }
}

/** Tags of the time of a revocation in DER: UTCTime and GeneralizedTime. */
const timeTags: readonly unknown[] = [0x17, 0x18];
const integerTag = 0x02;

/**
 * The serial numbers of the entries of a list, each followed by the time of its revocation (RFC 5280, 5.1), in one pass: a list may have some hundred thousand. The
 * platform checks a list in the handshake alone. If other bytes of the list look like an entry, a client has to connect again, and no more.
 * @param text of the list, PEM.
 */
function serialsIn(text: string): readonly string[] {
  const list = Buffer.from(text.replaceAll(/-----[^-]+-----/g, ''), 'base64');
  const found: string[] = [];
  for (let at = list.indexOf(integerTag); at !== -1; at = list.indexOf(integerTag, at + 1)) {
    const [start, bytes = 0] = [at + 2, list[at + 1]];
    if (timeTags.includes(list[start + bytes])) found.push(plain(list.toString('hex', start, start + bytes)));
  }
  return found;
}

/** Hexadecimal digits in small letters, without zeros in front. */
const plain = (serial: string): string => serial.toLowerCase().replace(/^(?:00)+(?=..)/, '');
