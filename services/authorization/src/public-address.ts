/**
 * Fetches addresses that another names, from the public Internet only. Otherwise strangers could use the gateway to reach places that they cannot reach
 * themselves (server-side request forgery). The address is checked when it is connected to, so a name that resolves differently later (DNS rebinding) gains
 * nothing.
 */
import { request } from 'node:https';
import { isIP } from 'node:net';
import { addressOf, guardedLookup, networkList } from '@omnibus/lifecycle';

/** Bound on a document that describes a client. */
const maxBytes = 5 * 1_024;
const answerMs = 5_000;

/** Addresses that are not of the public Internet (IANA's registries of special-purpose addresses). */
const special = networkList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);
/** For IPv6 only global unicast is allowed, without forms that contain an IPv4 address and without addresses for documentation. */
const globalUnicast = networkList(['2000::/3']);

/** @param address of IPv4 or IPv6. */
export function isPublic(address: string): boolean {
  const known = addressOf(address);
  if (known === undefined || known.isOwn) return false;
  const { plain, family } = known;
  return (family === 'ipv4' || globalUnicast.check(plain, family)) && !special.check(plain, family);
}

/** Resolves names as usual, and refuses a name with an address that is not public. */
const publicLookup = guardedLookup((hostname, address) =>
  isPublic(address) ? undefined : new Error(`${hostname} is at ${address}, which is not of the public Internet`),
);

/**
 * Fetches over https:// within bounds of time and size, without following redirects.
 * @param allowedHosts hosts that may have any address.
 * @throws {Error} in words.
 */
export async function fetchPublic(address: URL, headers: Headers, allowedHosts: readonly string[]): Promise<Response> {
  const { protocol, hostname, port } = address;
  const isAllowed = allowedHosts.includes(hostname);
  if (protocol !== 'https:') throw new Error(`${address.href} is not https://`);
  if (!isAllowed && port !== '') throw new Error('its port is not 443');
  // A literal address is never resolved, so it is checked here.
  if (!isAllowed && isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 && !isPublic(hostname))
    throw new Error(`${hostname} is not of the public Internet`);
  return new Promise((resolve, reject) => {
    const asking = request(
      address,
      {
        headers: Object.fromEntries(headers),
        agent: false,
        signal: AbortSignal.timeout(answerMs),
        ...(isAllowed ? {} : { lookup: publicLookup }),
      },
      (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > maxBytes) answer.destroy(new Error(`it is larger than ${maxBytes} bytes`));
          else chunks.push(chunk);
        });
        answer.on('error', reject);
        answer.on('end', () => {
          const { statusCode = 0, headers: said } = answer;
          const copied = new Headers();
          for (const name of ['content-type', 'cache-control', 'expires'] as const)
            if (said[name] !== undefined) copied.set(name, said[name]);
          // The body of a redirect or an error is not read.
          resolve(
            statusCode === 200
              ? new Response(Buffer.concat(chunks), { status: 200, headers: copied })
              : new Response(null, {
                  status: statusCode >= 200 && statusCode < 600 ? (statusCode === 204 ? 502 : statusCode) : 502,
                }),
          );
        });
      },
    );
    asking.on('error', reject);
    asking.end();
  });
}
