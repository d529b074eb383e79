/** Addresses that only programs of this machine can connect to. */

/** Hosts as a URL has them, however they were written: `127.1` is 127.0.0.1 there, and `LOCALHOST` localhost. */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** @param hostname of a URL. */
export function isLoopback(hostname: string): boolean {
  return loopback.test(hostname);
}

/** Whether what is sent to an address is safe from others: it is https://, or of this machine. */
export function isTrusted(text: string): boolean {
  return URL.canParse(text) && (new URL(text).protocol === 'https:' || isLoopback(new URL(text).hostname));
}

/** The host of HOST:PORT, as a URL has it; undefined where that is no address. */
export function hostOf(address: string): string | undefined {
  const url = `http://${address}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** Whether only programs of this machine can connect to HOST:PORT. */
export function isOfThisMachine(address: string): boolean {
  return isLoopback(hostOf(address) ?? '');
}
