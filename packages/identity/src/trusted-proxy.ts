/** A proxy that signs users in and names them in a header, which is believed only on connections from configured addresses. */
import { fault } from '@omnibus/protocol';
import type { Request } from './credential.ts';
import { factsWithoutToken, type Facts, type Verdict } from './facts.ts';
import { isName } from './names.ts';
import { Networks } from './networks.ts';

export interface TrustedProxyOptions {
  /** Addresses and networks (`10.0.0.0/8`) of the proxy, compared with the other end of the connection, whatever any header says. */
  readonly addresses: readonly string[];
  /** The header that names the user, in lower case. */
  readonly userHeader: string;
  /** The header that names groups, separated by commas. */
  readonly groupsHeader?: string | undefined;
  /** The header that names the tenant; a request without it is refused. */
  readonly tenantHeader?: string | undefined;
}

/** The issuer of all users that a proxy names. */
const proxyIssuer = 'omnibus:proxy';
const maxNameBytes = 255;
const maxGroups = 200;
/** Bound on cached facts of users; each is less than a kilobyte. */
const maxKnown = 10_000;
const isOne = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && isName(name) && Buffer.byteLength(name) <= maxNameBytes;
/** Characters that are more than one byte in UTF-8. */
const beyondAscii = /[\u0080-\u00FF]/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class TrustedProxy {
  readonly #trusted: Networks;
  readonly #options: TrustedProxyOptions;
  /** Facts by the contents of the headers; the oldest comes first. */
  readonly #known = new Map<string, Facts>();

  constructor(options: TrustedProxyOptions) {
    this.#options = options;
    this.#trusted = new Networks(options.addresses);
  }

  /**
   * The user that a proxy names; undefined where there is none, or the connection is not from a proxy.
   * @param address of the other end of the connection.
   */
  verify({ headers, rawHeaders }: Request, address: string | undefined): Verdict | undefined {
    const { userHeader, groupsHeader, tenantHeader } = this.#options;
    const sent = headers[userHeader];
    if (sent === undefined || address === undefined || !this.#trusted.has(address)) return undefined;
    // If the client has sent such a header too, the edge cannot distinguish the proxy's.
    const isTwice = [userHeader, groupsHeader, tenantHeader].some(
      (name) => rawHeaders.filter((header, index) => index % 2 === 0 && header.toLowerCase() === name).length > 1,
    );
    const user = textOf(sent);
    if (isTwice || !isOne(user))
      return { fault: fault('auth.invalid', `the header ${userHeader} of the proxy names nobody, or comes twice`) };
    const said = groupsHeader === undefined ? undefined : textOf(headers[groupsHeader]);
    const tenant = tenantHeader === undefined ? undefined : textOf(headers[tenantHeader]);
    if (tenantHeader !== undefined && !isOne(tenant))
      return { fault: fault('auth.invalid', `the header ${tenantHeader} of the proxy names no tenant`) };
    // No header contains a line break.
    const key = `${user}\n${String(said)}\n${String(tenant)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const groups =
      typeof said === 'string'
        ? said
            .split(',')
            .map((group) => group.trim())
            .filter((group) => group !== '')
        : [];
    if (groups.length > maxGroups || !groups.every(isName))
      return {
        fault: fault(
          'auth.invalid',
          `the proxy names more than ${maxGroups} groups, or one by a text that is not printable`,
        ),
      };
    const facts = factsWithoutToken(
      { issuer: proxyIssuer, subject: user },
      { tenant: tenant as string | undefined, groups },
    );
    if (this.#known.size >= maxKnown) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(key, facts);
    return facts;
  }
}

/**
 * The text of a header. Node reads each byte as a character of Latin-1, while proxies write names in UTF-8, as they are in tokens and in the configuration:
 * bytes that are no UTF-8 stay what Node has read (RFC 9110, 5.5).
 */
function textOf(value: string | string[] | undefined): string | string[] | undefined {
  if (typeof value !== 'string' || !beyondAscii.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}
