/**
 * Restricts the addresses that sockets may connect to when others have named the host. The address is checked at each connection, after its name was
 * resolved, so that a name that later resolves to a forbidden address is refused (DNS rebinding).
 */
import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';

/** An IP address without brackets and zone, and its family; undefined where the text is no address. */
export function addressOf(
  text: string,
): { readonly plain: string; readonly family: 'ipv4' | 'ipv6'; readonly isOwn: boolean } | undefined {
  const plain = withoutZone(text.replace(/^\[|\]$/g, ''));
  const family = isIP(plain);
  if (family === 0) return undefined;
  const isOwn = Object.values(networkInterfaces()).some(
    (each) => each?.some(({ address }) => withoutZone(address) === plain) === true,
  );
  return { plain, family: family === 6 ? 'ipv6' : 'ipv4', isOwn };
}

/** @param networks such as `10.0.0.0/8`. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}

/**
 * A `lookup` for sockets that resolves names as usual, and fails if any of the addresses is forbidden.
 * @param refusalOf why an address is forbidden for a name; undefined when it is not.
 */
export function guardedLookup(refusalOf: (hostname: string, address: string) => Error | undefined): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const refusal =
        error === null
          ? addresses.map(({ address }) => refusalOf(hostname, address)).find((each) => each !== undefined)
          : undefined;
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error ?? new Error(`${hostname} has no address`), []);
      else if (refusal !== undefined) callback(refusal, []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
