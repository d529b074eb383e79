/**
 * Where servers that somebody else adds may be: not at this machine, not at its link, and not where clouds tell machines their
 * credentials. Who may add a server could otherwise use the gateway to look where he cannot (server-side request forgery). What the
 * operator writes into his own file is his own to know.
 *
 * The address is judged when it is connected to, after the name was resolved and each time anew, so a name that leads elsewhere later
 * (DNS rebinding) leads nowhere.
 */
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { addressOf, guardedLookup } from '@omnibus/lifecycle';

/** Hosts, as they stand in a `url`, that may be connected to whatever they resolve to. */
export interface AddressRule {
  readonly allowedHosts: readonly string[];
}

const forbidden = new BlockList();
for (const [address, prefix] of [
  ['0.0.0.0', 8], ['127.0.0.0', 8], ['169.254.0.0', 16], ['224.0.0.0', 4], ['255.255.255.255', 32],
  // Metadata outside the link: Alibaba Cloud, Azure, Oracle Cloud.
  ['100.100.100.200', 32], ['168.63.129.16', 32], ['192.0.0.192', 32],
] as const) forbidden.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of [
  ['::', 128], ['::1', 128], ['fe80::', 10], ['fec0::', 10], ['ff00::', 8],
  // Metadata: AWS, Google Cloud.
  ['fd00:ec2::', 32], ['fd20:ce::254', 128],
  // Addresses of IPv4 in other clothes: translated (NAT64), tunnelled (6to4, Teredo), compatible.
  ['64:ff9b::', 96], ['64:ff9b:1::', 48], ['2002::', 16], ['2001::', 32], ['::', 96],
] as const) forbidden.addSubnet(address, prefix, 'ipv6');

/** @returns why an IP address may not be connected to; undefined when it may. */
export function forbiddenAddress(address: string): string | undefined {
  const known = addressOf(address);
  if (known === undefined) return `${address} is no address`;
  // An IPv4 address inside one of IPv6 (::ffff:127.0.0.1) is judged as IPv4 by the list.
  if (!known.isOwn && !forbidden.check(known.plain, known.family)) return undefined;
  return `${address} is of this machine, of its link, or where clouds keep credentials`;
}

/** Says so before anything is connected to, where the host is an address or a name of this machine. */
export function forbiddenHost(hostname: string, { allowedHosts }: AddressRule): string | undefined {
  if (allowedHosts.includes(hostname)) return undefined;
  const plain = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '').toLowerCase();
  const problem = isIP(plain) === 0 ? undefined : forbiddenAddress(plain);
  return problem ?? (plain === 'localhost' || plain.endsWith('.localhost') ? `${hostname} is this machine` : undefined);
}

/** What a refusal carries, so that it is known that nothing was sent. */
export const addressRefused = 'OMNIBUS_ADDRESS_REFUSED';

/** A `lookup` for sockets that fails where any address of the name is forbidden. */
export function lookupUnder({ allowedHosts }: AddressRule): LookupFunction {
  return guardedLookup((hostname, address) => {
    const problem = allowedHosts.includes(hostname) ? undefined : forbiddenAddress(address);
    return problem === undefined ? undefined : refusal(`${hostname}: ${problem}`);
  });
}

export function refusal(problem: string): Error {
  return Object.assign(new Error(`the address is not allowed: ${problem}; see discovery.kubernetes.allowedHosts`), { code: addressRefused });
}
