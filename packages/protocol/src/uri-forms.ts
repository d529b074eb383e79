/**
 * The forms in which a server may read a URI (RFC 3986 section 6.2): a client chooses how it writes one, and many servers resolve dots, decode characters and
 * ignore case before they look at it. A rule would otherwise be evaded by `FILE:///etc/passwd`, `file:///a/../etc/passwd` or `file:///%65tc/passwd`.
 */

export interface UriForms {
  /** All that a rule which counts against the caller is compared with; the URI as it is written is the first. */
  readonly all: readonly string[];
  /** What a rule that allows has to cover: the URI as it is written, and where its dots lead. */
  readonly needed: readonly string[];
}

/** Whether a URI may be read otherwise than it is written; most may not. */
const isOdd = /[%\\?#]|\/\.|.\/\/.*\/\/|^[^/]*[A-Z]|^[^/]*\/\/[^/]*[A-Z]|^file:\/(?!\/\/)|^file:\/\/localhost/su;
/** Decodings that are tried: a server that decodes a URI more often than twice is not thought of. */
const decodings = 2;

/** What was asked last: all rules about one request ask for the same. */
let last: readonly [uri: string, forms: UriForms] | undefined;

export function uriForms(uri: string): UriForms {
  if (last?.[0] !== uri) last = [uri, formsOf(uri)];
  return last[1];
}

function formsOf(uri: string): UriForms {
  if (!isOdd.test(uri)) return { all: [uri], needed: [uri] };
  const [, scheme = '', rest = uri] = /^([A-Za-z][A-Za-z0-9+.-]*:)?(.*)$/su.exec(uri) ?? [];
  const [, plain = rest, more = ''] = /^([^?#]*)(.*)$/su.exec(rest) ?? [];
  const [, authority = '', path = plain] = /^(\/\/[^/\\]*)?(.*)$/su.exec(plain) ?? [];
  const led = withoutDots(decoded(path));
  const isFile = scheme.toLowerCase() === 'file:';
  const place = isFile ? '//' : decoded(authority).toLowerCase();
  const lower = scheme.toLowerCase();
  const all = new Set([uri, `${lower}${authority.toLowerCase()}${path}${more}`, `${lower}${place}${path}`]);
  for (const each of [led, led.replace(/\/{2,}/gu, '/')])
    all.add(`${lower}${place}${each}`).add(`${lower}${place}${each}${more}`);
  return { all: [...all], needed: hasDots(decoded(path)) ? [uri, `${scheme}${authority}${led}${more}`] : [uri] };
}

function decoded(path: string): string {
  let text = path;
  for (let times = 0; times < decodings && text.includes('%'); times += 1)
    text = text.replace(/(?:%[\da-f]{2})+/giu, (found) =>
      Buffer.from(found.replaceAll('%', ''), 'hex').toString('utf8'),
    );
  return text.replaceAll('\\', '/');
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
