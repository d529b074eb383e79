/** The digest of an image, so that a tag that moves does not change the program. Source: OCI Distribution Specification 1.1, and the token protocol of registries. */
import { CommandProblem } from '@omnibus/client';
import { isLoopback } from '@omnibus/config';
import { isObject, printable } from '@omnibus/protocol';

const timeoutMs = 30_000;
const types = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

interface Place {
  readonly host: string;
  readonly name: string;
  readonly tag: string;
}

/** @returns the image with its digest in place of its tag. @throws {CommandProblem} if its registry does not tell the digest. */
export async function pinned(image: string): Promise<string> {
  if (/@sha256:[a-f0-9]{64}$/.test(image)) return image;
  const place = placeOf(image);
  if (place === undefined) throw noDigest(image, 'this is no name of an image');
  try {
    const digest = await digestOf(place);
    if (digest !== undefined && /^sha256:[a-f0-9]{64}$/.test(digest))
      return `${image.slice(0, image.length - place.tag.length).replace(/:$/, '')}@${digest}`;
  } catch (error) {
    const { message, cause } = error as Error;
    throw noDigest(image, cause instanceof Error ? cause.message : message);
  }
  throw noDigest(image, 'its registry does not tell it');
}

function noDigest(image: string, problem: string): CommandProblem {
  return new CommandProblem(
    'unreachable',
    `the digest of the image ${printable(image, 200)} is not known: ${problem}`,
    {
      advice: 'Take the tag as it is, which may name another image tomorrow: --no-pin.',
    },
  );
}

function placeOf(image: string): Place | undefined {
  const [, host = 'docker.io', path = '', tag = 'latest'] =
    /^(?:([\w-]+(?:\.[\w-]+)+(?::\d+)?|localhost(?::\d+)?|\[[\da-f:]+\](?::\d+)?)\/)?([a-z\d][a-z\d._/-]*)(?::([\w][\w.-]{0,127}))?$/.exec(
      image,
    ) ?? [];
  if (path === '') return undefined;
  const isHub = host === 'docker.io';
  return {
    host: isHub ? 'registry-1.docker.io' : host,
    name: isHub && !path.includes('/') ? `library/${path}` : path,
    tag: image.endsWith(`:${tag}`) ? tag : '',
  };
}

async function digestOf({ host, name, tag }: Place): Promise<string | undefined> {
  const origin = `${isLoopback(host.replace(/:\d+$/, '')) ? 'http' : 'https'}://${host}`;
  const url = `${origin}/v2/${name}/manifests/${tag === '' ? 'latest' : tag}`;
  const ask = (headers: Record<string, string>): Promise<Response> =>
    fetch(url, { method: 'HEAD', headers: { accept: types, ...headers }, signal: AbortSignal.timeout(timeoutMs) });
  let answer = await ask({});
  if (answer.status === 401) {
    const token = await tokenOf(answer.headers.get('www-authenticate') ?? '', origin);
    if (token !== undefined) answer = await ask({ authorization: `Bearer ${token}` });
  }
  if (!answer.ok) throw new Error(`its registry answers with status ${answer.status}`);
  return answer.headers.get('docker-content-digest') ?? undefined;
}

/** A token for an anonymous reader. @param challenge the header `WWW-Authenticate`. */
async function tokenOf(challenge: string, origin: string): Promise<string | undefined> {
  const parts = new Map([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value] as const));
  const realm = parts.get('realm');
  if (!/^bearer /i.test(challenge) || realm === undefined || !URL.canParse(realm)) return undefined;
  const url = new URL(realm);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && origin.startsWith('http:'))) return undefined;
  for (const key of ['service', 'scope']) if (parts.has(key)) url.searchParams.set(key, parts.get(key) as string);
  const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  const given: unknown = answer.ok ? await answer.json() : undefined;
  const token = isObject(given) ? (given['token'] ?? given['access_token']) : undefined;
  return typeof token === 'string' ? token : undefined;
}
