import { BlockList, isIP } from 'node:net';

/** Addresses and networks (`10.0.0.0/8`) of the configuration, which has checked their form. */
export class Networks {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  constructor(entries: readonly string[]) {
    this.#isEmpty = entries.length === 0;
    for (const entry of entries) {
      const [network = '', bits] = entry.split('/', 2);
      const family = familyOf(isIP(network));
      if (bits === undefined) this.#list.addAddress(network, family);
      else this.#list.addSubnet(network, Number(bits), family);
    }
  }

  /** Whether an address, as sockets and headers have it, is one of these; an IPv4-mapped one counts as IPv4. */
  has(address: string): boolean {
    if (this.#isEmpty) return false;
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, familyOf(version));
  }
}

const familyOf = (version: number): 'ipv4' | 'ipv6' => (version === 6 ? 'ipv6' : 'ipv4');
