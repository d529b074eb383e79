/**
 * The forms in which a server may read a URI: a client chooses how it writes one. Servers of the official SDKs parse it as browsers do (WHATWG URL, sections 4.4
 * and 4.5): without blanks around it, tabs and line breaks, with small letters in scheme and host, without a default port, with resolved dots. Many decode
 * characters as well (RFC 3986 section 6.2). A rule would otherwise be evaded by `FILE:///etc/passwd`, `file:etc/passwd` or `file:///%65tc/passwd`.
 */

export interface UriForms {
  /** All that a rule which counts against the caller is compared with; the URI as it is written is the first. */
  readonly all: readonly string[];
  /** The forms that an allow rule must cover: the URI as written, and its normalized form. */
  readonly needed: readonly string[];
}

/** A URI that every server reads as it is written; most are. The last part of a host is no number, since that would be an address. */
const isPlain =
  /^(?:(?!file:)[a-z][a-z0-9+.-]*:\/\/(?:[a-z0-9_-]+\.)*[a-z][a-z0-9_-]*|file:\/\/)(?:\/[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@-]*)*\/?$/;
/** Decodings that are tried: a server that decodes a URI more often than twice is not thought of. */
const decodings = 2;

/** The last result: all rules about one request ask for the same. */
let last: readonly [uri: string, forms: UriForms] | undefined;

export function uriForms(uri: string): UriForms {
  if (last?.[0] !== uri) last = [uri, formsOf(uri)];
  return last[1];
}

function formsOf(uri: string): UriForms {
  if (isPlain.test(uri)) return { all: [uri], needed: [uri] };
  const trimmed = withoutBlanks(uri);
  const texts = [uri, trimmed, parsed(trimmed)].filter((text) => text !== undefined);
  return {
    all: [...new Set([uri, ...texts.flatMap((text) => spellings(text))])],
    needed: [...new Set([uri, ...texts.map((text) => canonical(text))])],
  };
}

/** Blanks that servers in JavaScript (`trim`) and Python (`strip`) remove around a text. */
const wideBlank = /[\s\u0085]/u;

/** WHATWG URL, section 4.4: blanks and control characters around it are removed, and tabs and line breaks in it. Blanks beyond ASCII go too. */
function withoutBlanks(uri: string): string {
  const isBlank = (at: number): boolean => uri.charCodeAt(at) <= 0x20 || wideBlank.test(uri.charAt(at));
  let [first, end] = [0, uri.length];
  while (first < end && isBlank(first)) first += 1;
  while (end > first && isBlank(end - 1)) end -= 1;
  return uri.slice(first, end).replaceAll(/[\t\n\r]/gu, '');
}

/** The normalized URL, without user and password, and without a dot at the end of the host. Undefined for an invalid URL. */
function parsed(uri: string): string | undefined {
  const url = URL.parse(uri);
  if (url === null) return undefined;
  if (url.host === '') return url.href;
  return `${url.protocol}//${placeOf(url)}${url.pathname}${url.search}${url.hash}`;
}

function placeOf({ hostname, port }: URL): string {
  return `${withoutEnd(hostname)}${port === '' ? '' : `:${port}`}`;
}

/** A host without the dots at its end, which mean the root of names. */
function withoutEnd(host: string): string {
  let end = host.length;
  while (host[end - 1] === '.') end -= 1;
  return host.slice(0, end);
}

interface Parts {
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
  /** Query and fragment. */
  readonly more: string;
}

function partsOf(uri: string): Parts {
  const [, scheme = '', rest = uri] = /^([A-Za-z][A-Za-z0-9+.-]*:)?(.*)$/su.exec(uri) ?? [];
  const [, plain = rest, more = ''] = /^([^?#]*)(.*)$/su.exec(rest) ?? [];
  const [, authority = '', path = plain] = /^(\/\/[^/\\]*)?(.*)$/su.exec(plain) ?? [];
  return { scheme: scheme.toLowerCase(), authority, path, more };
}

/** Decoded, with small letters of scheme and host, and where its dots lead. */
function canonical(text: string): string {
  const { scheme, authority, path, more } = partsOf(text);
  const place = scheme === 'file:' ? '//' : decoded(authority, decodings).toLowerCase();
  return `${scheme}${place}${withoutDots(decoded(path, decodings))}${decoded(more, decodings)}`;
}

function spellings(text: string): readonly string[] {
  const { scheme, authority, path, more } = partsOf(text);
  const place = scheme === 'file:' ? '//' : decoded(authority, decodings).toLowerCase();
  const made = [text, `${scheme}${authority.toLowerCase()}${path}${more}`, `${scheme}${place}${path}`];
  for (let times = 1; times <= decodings; times += 1) {
    const led = withoutDots(decoded(path, times));
    for (const each of [led, led.replace(/\/{2,}/gu, '/')])
      made.push(
        `${scheme}${place}${each}`,
        `${scheme}${place}${each}${more}`,
        `${scheme}${place}${each}${decoded(more, times)}`,
      );
  }
  return made;
}

function decoded(text: string, times: number): string {
  let made = text;
  for (let time = 0; time < times && made.includes('%'); time += 1)
    made = made.replace(/(?:%[\da-f]{2})+/giu, (found) =>
      Buffer.from(found.replaceAll('%', ''), 'hex').toString('utf8'),
    );
  return made.replaceAll('\\', '/');
}

const hasDots = (path: string): boolean => /(?:^|\/)\.{1,2}(?:\/|$)/u.test(path);

/** RFC 3986 section 5.2.4. */
function withoutDots(path: string): string {
  if (!hasDots(path)) return path;
  const kept: string[] = [];
  const steps = path.split('/');
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    if (step === '..') {
      if (kept.length > 1) kept.pop();
    } else if (step !== '.') kept.push(step);
    if (isLast && (step === '.' || step === '..')) kept.push('');
  }
  return kept.join('/');
}

/** Characters that mean something in a glob. */
const special = /[*?[\]{}\\]/;
/** Schemes in front of which browsers expect a host, with or without slashes (WHATWG URL, section 4.2). */
const withHost = /^(?:https?|wss?|ftp):$/;

/**
 * A glob over URIs in the normal form of URIs, in addition to its own: a rule may be written with `%20`, capital letters or a default port as well.
 * @returns globs that are compared with the forms of a URI, the given one first.
 */
export function uriGlobs(glob: string): readonly string[] {
  const [, written = '', rest = glob] = /^([A-Za-z][A-Za-z0-9+.-]*:)?(.*)$/su.exec(glob) ?? [];
  const scheme = written.toLowerCase();
  const whole = withHost.test(scheme)
    ? rest.replace(/^\/*/u, '//')
    : scheme === 'file:' && !rest.startsWith('//')
      ? rest.replace(/^\/?/u, '///')
      : rest;
  const [, authority = '', path = whole] = scheme === '' ? [] : (/^(\/\/[^/]*)(.*)$/su.exec(whole) ?? []);
  const place = authority === '' ? '' : `//${globPlace(scheme, authority.slice(2))}`;
  const isLiteral = !special.test(path.replace(/\*+$/u, ''));
  const globs = [glob];
  for (let times = 0; times <= decodings; times += 1) {
    const made = decodedGlob(path, times);
    globs.push(`${scheme}${place}${made}`, `${scheme}${place}${isLiteral ? withoutDots(made) : made}`);
  }
  return [...new Set(globs)];
}

/** Host and port as `parsed` writes them. */
function globPlace(scheme: string, authority: string): string {
  const url = special.test(authority) ? null : URL.parse(`${scheme}//${authority}/`);
  if (url !== null) return decoded(placeOf(url), decodings).toLowerCase();
  const port = { 'https:': '443', 'wss:': '443', 'http:': '80', 'ws:': '80', 'ftp:': '21' }[scheme];
  const host = authority.replace(/^[^@]*@/u, '').toLowerCase();
  return withoutEnd(port !== undefined && host.endsWith(`:${port}`) ? host.slice(0, -port.length - 1) : host);
}

/** Decoded characters stand for themselves. */
function decodedGlob(glob: string, times: number): string {
  let made = glob;
  for (let time = 0; time < times && made.includes('%'); time += 1)
    made = made.replace(/(?:%[\da-f]{2})+/giu, (found) =>
      decoded(found, 1).replaceAll(/[*?[\]{}]/gu, (character) => `\\${character}`),
    );
  return made;
}

/**
 * Finds a character that a URI cannot have (RFC 3986 section 2), and that servers remove before they read it.
 * @returns the problem, for the client; undefined where there is none. `isControl`: it is no blank. A control character is found before a blank.
 */
export function uriProblem(uri: string): { readonly problem: string; readonly isControl: boolean } | undefined {
  if (!/[\p{Cc} ]/u.test(uri)) return undefined;
  const control = uri.search(/\p{Cc}/u);
  const isControl = control !== -1;
  const at = isControl ? control : uri.indexOf(' ');
  const code = uri.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
  return {
    problem: `the URI has a ${isControl ? 'control character' : 'blank'} (U+${code}) at position ${at}; write it as ${encodeURIComponent(uri.charAt(at))}, or leave it out`,
    isControl,
  };
}
