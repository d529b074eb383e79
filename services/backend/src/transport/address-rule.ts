/**
 * The addresses at which servers may be that were added by others than the operator: not on this machine, not link-local, and not the metadata services
 * of clouds, which serve credentials. Otherwise a person that may add a server could use the gateway to reach places that they cannot reach themselves
 * (server-side request forgery). Servers in the operator's own file are not restricted.
 *
 * The address is checked at each connection, after the name was resolved, so a name that resolves differently later (DNS rebinding) gains nothing.
 */
import { isIP, type LookupFunction } from 'node:net';
import { addressOf, guardedLookup, networkList } from '@omnibus/lifecycle';

/** `allowedHosts`: hosts, as written in a `url`, that may be connected to whatever they resolve to. */
export interface AddressRule {
  readonly allowedHosts: readonly string[];
  /** The option with these hosts, for messages; left out for that of servers from a cluster. */
  readonly option?: string;
  /** Whether addresses of private networks need permission too: where a document of a server names them, which no operator and no object of the cluster does. */
  readonly isPublicOnly?: boolean;
}

const forbidden = networkList([
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  // Metadata services outside the link-local range: Alibaba Cloud, Azure, Oracle Cloud.
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  '::/128',
  '::1/128',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  // Metadata services: AWS, Google Cloud.
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  // Forms of IPv6 that contain an IPv4 address: translated (NAT64), tunnelled (6to4, Teredo), compatible.
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
  '2001::/32',
  '::/96',
]);

/** Addresses of private networks (RFC 1918; RFC 6598; RFC 4193). */
const ofPrivateNetworks = networkList(['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']);

/** Whether a host is written as an address of a private network. */
export function isPrivate(hostname: string): boolean {
  const known = addressOf(hostname);
  return known !== undefined && ofPrivateNetworks.check(known.plain, known.family);
}

/** @returns why an IP address may not be connected to; undefined when it may. */
export function forbiddenAddress(
  address: string,
  { isPublicOnly }: Pick<AddressRule, 'isPublicOnly'> = {},
): string | undefined {
  const known = addressOf(address);
  if (known === undefined) return `${address} is no address`;
  // The list judges an IPv4 address inside an IPv6 address (::ffff:127.0.0.1) as IPv4.
  if (!known.isOwn && !forbidden.check(known.plain, known.family))
    return isPublicOnly === true && isPrivate(address) ? `${address} is of a private network` : undefined;
  return `${address} is of this machine, of its link, or where clouds keep credentials`;
}

/** The reason why a host is forbidden that is an address or a name of this machine, found without connecting. */
export function forbiddenHost(hostname: string, rule: AddressRule): string | undefined {
  if (rule.allowedHosts.includes(hostname)) return undefined;
  const plain = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  const problem = isIP(plain) === 0 ? undefined : forbiddenAddress(plain, rule);
  return problem ?? (plain === 'localhost' || plain.endsWith('.localhost') ? `${hostname} is this machine` : undefined);
}

/** The error code of a refusal, which shows that nothing was sent. */
export const addressRefused = 'OMNIBUS_ADDRESS_REFUSED';

/** A `lookup` for sockets that fails where any address of the name is forbidden. */
export function lookupUnder(rule: AddressRule): LookupFunction {
  const { allowedHosts, option } = rule;
  return guardedLookup((hostname, address) => {
    const problem = allowedHosts.includes(hostname) ? undefined : forbiddenAddress(address, rule);
    return problem === undefined ? undefined : refusal(`${hostname}: ${problem}`, { option });
  });
}

export function refusal(
  problem: string,
  { option = 'discovery.kubernetes.allowedHosts' }: { readonly option?: string | undefined },
): Error {
  return Object.assign(new Error(`the address is not allowed: ${problem}; see ${option}`), { code: addressRefused });
}
