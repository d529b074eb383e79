/** Hosts and origins as browsers send them, however they are written: one that is compared as it was written would never be the one that comes. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { hostOf } from './loopback.ts';

/** Characters that no host has. Patterns are not supported. */
const strange = /[/?#@*\s\\]/;
const originForm = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s\\]+\/?$/i;

/** A host without scheme and port, which do not count; `*` is any. */
function hostNameOf(text: string): string | undefined {
  const host = text.replace(/^https?:\/\//i, '').replace(/\/$/, '');
  if (host === '*') return host;
  return host === '' || strange.test(host) ? undefined : hostOf(isIP(host) === 6 ? `[${host}]` : host);
}

/** An origin (RFC 6454); `*` is any, and `null` that of pages that have none. Other schemes than those of the Web, as of extensions, have no form of their own. */
function originOf(text: string): string | undefined {
  if (text === '*' || text === 'null') return text;
  if (!originForm.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  return origin === 'null' ? text.replace(/\/$/, '') : origin;
}

const readBy = (read: (text: string) => string | undefined, error: string) =>
  z
    .string()
    .refine((text) => read(text) !== undefined, { error })
    .transform((text) => read(text) ?? text);

export const hostName = readBy(hostNameOf, 'expected a host name, such as "mcp.example.com", or "*" for any');
export const webOrigin = readBy(
  originOf,
  'expected an origin, such as "https://app.example.com", without a path, or "*" for any',
);
