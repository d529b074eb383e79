/**
 * The targets of a rule, as the configuration writes them: `server/tool`, `prompt:server/name` and `resource:server/uri`, each a glob over the server's own
 * names, or the name of a server for all it has, or `*`. Public names are not used: a rename or a prefix must not change rights.
 */
import { compileGlob, compileGlobStart, splitSelector, uriForms, uriGlobs } from '@omnibus/protocol';

/** The kind of thing that a request uses. `server`: neither tool nor prompt nor resource, such as a method that no revision knows. */
export type TargetKind = 'tool' | 'prompt' | 'resource' | 'server';

export interface Selector {
  /** Whether it covers a thing. @param key `server/name`, with the server's own name. */
  readonly covers: (kind: TargetKind, server: string, key: string) => boolean;
  readonly coversAllOf: (server: string) => boolean;
  readonly mayCover: (server: string) => boolean;
  /** The server it names; undefined where it matches several. */
  readonly server: string | undefined;
  readonly kind: TargetKind | undefined;
}

/**
 * Whether selectors cover a thing, a resource in the forms in which its server may read its URI.
 * @param isAllowing whether that is in the caller's favour.
 */
export function coversForms(
  selectors: readonly Selector[],
  { kind, server, name }: { readonly kind: TargetKind; readonly server: string; readonly name: string },
  key: string,
  isAllowing: boolean,
): boolean {
  if (kind !== 'resource') return selectors.some((selector) => selector.covers(kind, server, key));
  const isCovered = (form: string): boolean =>
    selectors.some((selector) => selector.covers(kind, server, `${server}/${form}`));
  const { all, needed } = uriForms(name);
  return isAllowing ? needed.every(isCovered) : all.some(isCovered);
}

/** Characters that mean something in a glob. */
const special = /[*?[\]{}\\]/;

/** @param text for which `selectorProblem` finds nothing. */
export function compileSelector(text: string): Selector {
  const { kind, glob } = splitSelector(text);
  if (glob === '*') return whole(kind, () => true, undefined);
  if (!glob.includes('/')) return whole(kind, (server) => server === glob, glob);
  const ofKind = kind ?? 'tool';
  const servers = glob.split('/', 1)[0] as string;
  const fits = ofKind === 'resource' ? compileUriGlob(servers, glob) : compileFast(glob);
  const isPlain = !special.test(servers);
  // A star in front of the slash may reach over it.
  const begins = isPlain ? undefined : compileGlobStart(glob);
  return {
    kind: ofKind,
    server: isPlain ? servers : undefined,
    covers: (of, _server, key) => of === ofKind && fits(key),
    coversAllOf: () => false,
    mayCover: begins === undefined ? (server) => server === servers : (server) => begins(`${server}/`),
  };
}

function whole(kind: TargetKind | undefined, fits: (server: string) => boolean, server: string | undefined): Selector {
  return {
    kind,
    server,
    covers: (of, name) => (kind === undefined || of === kind) && fits(name),
    coversAllOf: (name) => kind === undefined && fits(name),
    mayCover: fits,
  };
}

/** A glob over URIs is compared in the normal form of URIs as well. */
function compileUriGlob(servers: string, glob: string): (text: string) => boolean {
  const tests = uriGlobs(glob.slice(servers.length + 1)).map((each) => compileFast(`${servers}/${each}`));
  return (text) => tests.some((fits) => fits(text));
}

/** Like `compileGlob`, but faster for globs with one star at the end or none, which most are: a list of a thousand tools is tested against a hundred rules. */
function compileFast(glob: string): (text: string) => boolean {
  if (!special.test(glob)) return (text) => text === glob;
  const start = glob.slice(0, -1);
  if (glob.endsWith('*') && !special.test(start)) return (text) => text.startsWith(start);
  return compileGlob(glob);
}
