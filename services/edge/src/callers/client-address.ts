/** Addresses of clients, by which the shares of anonymous clients are counted. */
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { Networks } from '@omnibus/identity';
import { localUser, type Client } from '@omnibus/protocol';

/** Normalizes an address: an IPv4-mapped one becomes IPv4, and the name of an interface is removed. */
function plainAddress(address: string): string {
  const plain = address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
  return plain.split('%', 1)[0] as string;
}

/**
 * The key that one client is counted under. An IPv6 network of 64 bits is one client, since it usually belongs to one.
 * @param address as a socket gives it.
 */
export function addressKey(address: string): string {
  const plain = plainAddress(address);
  if (isIP(plain) !== 6) return plain;
  const [head = '', tail] = (plain.split('%', 1)[0] as string).split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? 0 : tail.split(':').length + (tail.includes('.') ? 1 : 0);
    while (groups.length + after < 8) groups.push('0');
    groups.push(...tail.split(':'));
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** @param key of `addressKey`; `::1` is the only address in use of its network. */
const isLoopback = (key: string): boolean => key.startsWith('127.') || key === '0:0:0:0::/64';

const unknownPeer = 'unknown';
const forwardedFor = /(?:^|[;,])\s*for="?([^";,]+)"?/gi;

export class ClientAddresses {
  readonly #trusted: Networks;
  readonly #isLocalOnly: boolean;

  /**
   * @param trustedProxies addresses and networks (`10.0.0.0/8`) with trusted forwarding headers.
   * @param isLocalOnly whether only programs of this machine can connect.
   */
  constructor(trustedProxies: readonly string[], isLocalOnly = false) {
    this.#isLocalOnly = isLocalOnly;
    this.#trusted = new Networks(trustedProxies);
  }

  /** Whether the peer of a connection is a trusted proxy, behind which there may be many clients. */
  isProxy({ remoteAddress }: Socket): boolean {
    return remoteAddress !== undefined && this.#trusted.has(remoteAddress);
  }

  /**
   * The client of a request: the peer of its connection, or, where that is a trusted proxy, the last address before the trusted ones
   * (RFC 7239; `X-Forwarded-For`). If both headers are there and differ, as when a proxy writes one of them and passes the other one of the client
   * on, neither is believed.
   */
  of(request: IncomingMessage): string {
    return addressKey(this.exact(request));
  }

  /** The client's address as it is, for rules about networks. */
  exact({ socket: { remoteAddress = unknownPeer }, headers }: IncomingMessage): string {
    if (!this.#trusted.has(remoteAddress)) return plainAddress(remoteAddress);
    const { forwarded } = headers;
    const xForwardedFor = headers['x-forwarded-for'];
    const said = [
      ...(xForwardedFor === undefined
        ? []
        : [
            this.#lastUntrusted(
              String(xForwardedFor)
                .split(',')
                .map((hop) => hop.trim()),
            ),
          ]),
      ...(forwarded === undefined
        ? []
        : [this.#lastUntrusted([...forwarded.matchAll(forwardedFor)].map(([, hop = '']) => hop.trim()))]),
    ];
    const [first] = said;
    return plainAddress(
      first === undefined || said.some((hop) => hop === undefined || addressKey(hop) !== addressKey(first))
        ? remoteAddress
        : first,
    );
  }

  /**
   * The client's address where it stands for one client; undefined where it may stand for many: this machine, and an untrusted proxy that sends
   * forwarding headers. Clients without an address share one count, and none of them is ended in favour of another.
   */
  originOf(request: IncomingMessage): string | undefined {
    const {
      socket: { remoteAddress },
      headers,
    } = request;
    if (remoteAddress === undefined) return undefined;
    const address = this.of(request);
    if (isLoopback(address)) return undefined;
    const isForwarded = headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined;
    return isForwarded && address === addressKey(remoteAddress) ? undefined : address;
  }

  /** The user of this machine, if the request cannot be another's; with forwarding headers it could be from any client. */
  clientOf({ headers }: IncomingMessage): Client | undefined {
    return this.#isLocalOnly && headers.forwarded === undefined && headers['x-forwarded-for'] === undefined
      ? localUser
      : undefined;
  }

  /** The last address that is not a trusted proxy. @returns undefined when it is not a valid address. */
  #lastUntrusted(hops: readonly string[]): string | undefined {
    for (const hop of hops.toReversed()) {
      const address = withoutPort(hop);
      if (isIP(address) === 0) return undefined;
      if (!this.#trusted.has(address)) return address;
    }
    return undefined;
  }
}

function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1];
  return bracketed ?? hop.replace(/^([\d.]+):\d+$/, '$1');
}
