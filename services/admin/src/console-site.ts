/** The console at the admin port: built files in memory, with headers that restrict the page. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '@omnibus/config';
import { readMethods, Routes, type AdminSite } from '@omnibus/telemetry';

/** The folder of the built page, in the package or in a checkout; undefined when it was not built. */
export const pageFolder = ['../console/', '../../console/dist/page/']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((place) => existsSync(`${place}index.html`));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const routes = new Routes(
  ['/', '/index.html', '/console', '/console/', '/assets/*'].map((path) => [readMethods, path, undefined] as const),
);

/**
 * Permits scripts, styles and pictures of this port only, no HTML made from strings, no embedding in other pages, and requests to this port and to the
 * issuers where its user signs in.
 */
const policyWith = (issuers: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    'media-src blob:',
    `connect-src ${["'self'", ...issuers].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

const headersOfAll = {
  'content-security-policy': policyWith([]),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'x-frame-options': 'DENY',
} as const;

/** The origins where callers of the admin port get tokens; none where tokens give no access there. */
export function issuersOf({ auth, publicUrl }: Pick<Config, 'auth' | 'publicUrl'>): readonly string[] {
  if (auth === undefined || auth === 'none' || auth.admin === undefined || publicUrl === undefined) return [];
  const issuers = [...(auth.server === undefined ? [] : [publicUrl]), ...auth.issuers.map(({ issuer }) => issuer)];
  // The gateway's own metadata name the issuers.
  return issuers.length === 0 ? [] : [...new Set([publicUrl, ...issuers].map((address) => new URL(address).origin))];
}

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly tag: string;
  /** By how it is compressed. */
  readonly smaller: Readonly<Partial<Record<'br' | 'gzip', Buffer>>>;
}

/**
 * @param isShown false when the configuration turns the console off.
 * @param folder with `index.html` and `assets`.
 * @param issuers origins to which the page may send requests to sign its user in.
 */
export function consoleSite(
  isShown: () => boolean,
  folder: string | undefined,
  issuers: () => readonly string[] = () => [],
): AdminSite {
  let files: ReadonlyMap<string, PageFile> | undefined;
  return {
    covers: (path) => routes.has(path),
    serve(request, response, path) {
      const found = routes.find(request.method ?? '', path);
      if (found.kind === 'method') return say(response, 405, 'this is a page: GET it', { allow: found.allowed });
      if (!isShown()) return say(response, 404, 'there is no console here: the configuration says "console: off"');
      if (path.startsWith('/console'))
        return say(response, 302, 'the console is at /', { location: path === '/console' ? './' : '../' });
      if (folder === undefined) return say(response, 503, 'the console is not built in this checkout: npm run build');
      files ??= readFiles(folder);
      const file = files.get(path === '/' ? '/index.html' : path);
      if (file === undefined)
        return say(
          response,
          404,
          'the console has no such file; it may be that of another version: load the page again',
        );
      send(request, response, file, path.startsWith('/assets/'), policyWith(issuers()));
    },
  };
}

function readFiles(folder: string): ReadonlyMap<string, PageFile> {
  const names = ['index.html', ...readdirSync(`${folder}assets`).map((name) => `assets/${name}`)].filter((name) =>
    Object.hasOwn(types, extname(name)),
  );
  const compressed = (name: string, ending: string): Buffer | undefined =>
    existsSync(`${folder}${name}.${ending}`) ? readFileSync(`${folder}${name}.${ending}`) : undefined;
  return new Map(
    names.map((name): [string, PageFile] => {
      const bytes = readFileSync(`${folder}${name}`);
      const [br, gzip] = [compressed(name, 'br'), compressed(name, 'gz')];
      return [
        `/${name}`,
        {
          type: types[extname(name)] as string,
          bytes,
          tag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
          smaller: { ...(br === undefined ? {} : { br }), ...(gzip === undefined ? {} : { gzip }) },
        },
      ];
    }),
  );
}

/** @param isHashed whether its name changes with its content. */
function send(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  { type, bytes, tag, smaller }: PageFile,
  isHashed: boolean,
  policy: string,
): void {
  const common = {
    ...headersOfAll,
    'content-security-policy': policy,
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: tag,
    vary: 'accept-encoding',
  };
  if (headers['if-none-match'] === tag) {
    response.writeHead(304, common).end();
    return;
  }
  const accepted = (headers['accept-encoding']?.toString() ?? '')
    .split(',')
    .filter((each) => !/;\s*q=0(\.0*)?\s*$/.test(each))
    .map((each) => each.split(';', 1)[0]?.trim());
  const way = (['br', 'gzip'] as const).find((each) => accepted.includes(each) && smaller[each] !== undefined);
  const body = way === undefined ? bytes : (smaller[way] as Buffer);
  response.writeHead(200, {
    ...common,
    'content-type': type,
    'content-length': body.length,
    ...(way === undefined ? {} : { 'content-encoding': way }),
  });
  response.end(method === 'HEAD' ? undefined : body);
}

function say(
  response: ServerResponse,
  status: number,
  text: string,
  more: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, {
      ...headersOfAll,
      'cache-control': 'no-store',
      'content-type': 'text/plain; charset=utf-8',
      ...more,
    })
    .end(`${text}\n`);
}
