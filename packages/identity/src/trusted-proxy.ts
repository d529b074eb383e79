/** A proxy that has signed its users in and says who they are, believed only from addresses that were named. */
import { BlockList, isIP } from 'node:net';
import { fault } from '@omnibus/protocol';
import type { Request } from './credential.ts';
import { principalOf, type Facts, type Verdict } from './facts.ts';

export interface TrustedProxyOptions {
  /** Addresses and networks (`10.0.0.0/8`) of the proxy: of the other end of the connection, whatever any header says. */
  readonly addresses: readonly string[];
  /** The header that names the user, in small letters. */
  readonly userHeader: string;
  /** The header that names groups, separated by commas. */
  readonly groupsHeader?: string | undefined;
  /** The header that names the tenant; whoever it does not come with is refused. */
  readonly tenantHeader?: string | undefined;
}

/** Who vouches for what a proxy says. */
const proxyIssuer = 'omnibus:proxy';
const maxUserBytes = 255;
const maxGroups = 200;
/** Users that are remembered with their groups, so that what is made of them is made once; each is less than a kilobyte, of a few groups. */
const maxKnown = 10_000;
// oxlint-disable-next-line no-control-regex -- these characters are what it is about.
const strange = /[\u0000-\u001F\u007F]/;

export class TrustedProxy {
  readonly #trusted = new BlockList();
  readonly #options: TrustedProxyOptions;
  /** By what the headers say. The one that came first is first. */
  readonly #known = new Map<string, Facts>();

  constructor(options: TrustedProxyOptions) {
    this.#options = options;
    for (const entry of options.addresses) {
      const [network = '', bits] = entry.split('/', 2);
      const family = isIP(network) === 6 ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#trusted.addAddress(network, family);
      else this.#trusted.addSubnet(network, Number(bits), family);
    }
  }

  /**
   * Who a proxy says is asking; undefined where it says nothing, or is not one of ours.
   * @param address of the other end of the connection.
   */
  verify({ headers, rawHeaders }: Request, address: string | undefined): Verdict | undefined {
    const { userHeader, groupsHeader, tenantHeader } = this.#options;
    const user = headers[userHeader];
    if (user === undefined || !this.#isTrusted(address)) return undefined;
    // A header of the client's own beside the proxy's: nobody can tell which is whose.
    const isTwice = [userHeader, groupsHeader, tenantHeader].some((name) => rawHeaders.filter((header, index) => index % 2 === 0 && header.toLowerCase() === name).length > 1);
    if (isTwice || typeof user !== 'string' || user === '' || strange.test(user) || Buffer.byteLength(user) > maxUserBytes) return { fault: fault('auth.invalid', `the header ${userHeader} of the proxy names nobody, or comes twice`) };
    const said = groupsHeader === undefined ? undefined : headers[groupsHeader];
    const tenant = tenantHeader === undefined ? undefined : headers[tenantHeader];
    if (tenantHeader !== undefined && (typeof tenant !== 'string' || tenant === '' || strange.test(tenant) || Buffer.byteLength(tenant) > maxUserBytes)) return { fault: fault('auth.invalid', `the header ${tenantHeader} of the proxy names no tenant`) };
    // No header has a line break in it.
    const key = `${user}\n${String(said)}\n${String(tenant)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const groups = typeof said === 'string' ? said.split(',').map((group) => group.trim()).filter((group) => group !== '') : [];
    if (groups.length > maxGroups) return { fault: fault('auth.invalid', `the proxy names more than ${maxGroups} groups`) };
    const name = { issuer: proxyIssuer, subject: user };
    const facts: Facts = { ...name, principal: principalOf(name, tenant as string | undefined), tenant: tenant as string | undefined, actors: [], groups, scopes: [], client: undefined, expiresAt: undefined, key: undefined };
    if (this.#known.size >= maxKnown) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(key, facts);
    return facts;
  }

  #isTrusted(address: string | undefined): boolean {
    const family = address === undefined ? 0 : isIP(address);
    return family !== 0 && this.#trusted.check(address as string, family === 6 ? 'ipv6' : 'ipv4');
  }
}
