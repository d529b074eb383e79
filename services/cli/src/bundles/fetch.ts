/** The bytes of a bundle: a file, or what a registry names by its address and digest. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { CommandProblem } from '@omnibus/client';
import { isLoopback } from '@omnibus/config';
import { printable, readWithin } from '@omnibus/protocol';
import { maxArchiveBytes, refused } from './archive.ts';

const timeoutMs = 300_000;
/** Releases of GitHub lead to another host. */
const maxRedirects = 5;

/** @throws {CommandProblem} */
export async function bundleOfFile(file: string): Promise<Buffer> {
  try {
    if ((await stat(file)).size > maxArchiveBytes) throw tooLarge();
    return await readFile(file);
  } catch (error) {
    if (error instanceof CommandProblem) throw error;
    throw new CommandProblem('config', `${file} cannot be read: ${(error as Error).message}`);
  }
}

/**
 * @param sha256 of the registry, in hexadecimal digits.
 * @param isOfHere whether the address stands in a file or a registry of this machine: a stranger's must not make this machine ask its own ports.
 * @throws {CommandProblem} if the bytes are others.
 */
export async function bundleAt(address: string, sha256: string | undefined, isOfHere: boolean): Promise<Buffer> {
  if (sha256 === undefined || !/^[0-9a-f]{64}$/i.test(sha256))
    throw refused('the registry has no SHA-256 of it (fileSha256), so it could be another one tomorrow');
  const bytes = await download(address, isOfHere);
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== sha256.toLowerCase())
    throw refused(`its SHA-256 is ${found}, and the registry says ${sha256.toLowerCase()}`);
  return bytes;
}

async function download(address: string, isOfHere: boolean): Promise<Buffer> {
  const signal = AbortSignal.timeout(timeoutMs);
  let url = placeOf(address, isOfHere);
  const mayStayHere = isLoopback(url.hostname);
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    const response = await fetch(url, { redirect: 'manual', signal }).catch((error: unknown) => {
      throw unreadable(url, error);
    });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return bodyOf(response, url);
    await response.body?.cancel();
    url = placeOf(URL.canParse(location, url.href) ? new URL(location, url).href : location, mayStayHere);
  }
  throw new CommandProblem('unreachable', `${printable(address, 300)} redirects more than ${maxRedirects} times`);
}

/** Only encrypted, and on this machine only where that is allowed. @throws {CommandProblem} */
function placeOf(address: string, mayBeHere: boolean): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isHere = url !== undefined && isLoopback(url.hostname);
  if (isHere && !mayBeHere)
    throw refused(`${printable(JSON.stringify(address), 300)} is an address of this machine, which a stranger chose`);
  if (url === undefined || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere)))
    throw refused(`${printable(JSON.stringify(address), 300)} is no https:// address`);
  return url;
}

async function bodyOf(response: Response, url: URL): Promise<Buffer> {
  if (!response.ok || response.body === null)
    throw new CommandProblem('unreachable', `${printable(url.href, 300)} answers ${response.status}`);
  return readWithin(response.body, maxArchiveBytes, tooLarge).catch((error: unknown) => {
    throw error instanceof CommandProblem ? error : unreadable(url, error);
  });
}

function unreadable(url: URL, error: unknown): CommandProblem {
  const cause = String((error as Error).cause ?? error);
  return new CommandProblem('unreachable', `${printable(url.href, 300)} cannot be read: ${printable(cause, 300)}`);
}

const tooLarge = (): CommandProblem => refused(`it has more than ${maxArchiveBytes / 1024 / 1024} MiB`);
