/** Connections of clients that were let in by a certificate, which end when its authority is no longer trusted. */
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
}
