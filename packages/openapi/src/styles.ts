/** Writes values into paths, queries, headers and cookies (OpenAPI 3.1, 4.8.12.3, "Style Values"; RFC 6570). */
import { isObject, isRawNumber } from '@omnibus/protocol';

export interface Style {
  readonly style: string;
  readonly explode: boolean;
  /** Whether reserved characters go as they are. */
  readonly isRaw: boolean;
}

/** Characters of RFC 3986, 2.2 that a query may have as they are without ending it or a pair. */
const reserved = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|5B|5D)/g;
const maxDepth = 16;

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isRawNumber(value)
    ? value.rawJSON
    : typeof value === 'object'
      ? JSON.stringify(value)
      : `${value as number | boolean}`;
}

export function encoded(value: unknown, isRaw = false): string {
  const text = encodeURIComponent(textOf(value).toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return isRaw ? text.replaceAll(reserved, decodeURIComponent) : text;
}

/** A path parameter, in place of `{name}`. */
export function inPath(name: string, value: unknown, { style, explode }: Style): string {
  const separator = style === 'label' ? '.' : style === 'matrix' ? ';' : ',';
  const start = style === 'simple' ? '' : separator;
  const key = encoded(name);
  if (Array.isArray(value)) {
    const items = value.map((item) => encoded(item));
    if (style === 'matrix')
      return explode ? items.map((item) => `;${key}=${item}`).join('') : `;${key}=${items.join(',')}`;
    return `${start}${items.join(explode ? separator : ',')}`;
  }
  if (isObject(value)) {
    const pairs = Object.entries(value).map(([member, each]) => [encoded(member), encoded(each)] as const);
    if (explode) return `${start}${pairs.map(([member, each]) => `${member}=${each}`).join(separator)}`;
    return `${style === 'matrix' ? `;${key}=` : start}${pairs.flat().join(',')}`;
  }
  return style === 'matrix' ? `;${key}=${encoded(value)}` : `${start}${encoded(value)}`;
}

/** A query parameter, or a member of a form: pairs `name=value`, joined. */
export function inQuery(name: string, value: unknown, how: Style): string {
  return pairsOf(name, value, how)
    .map(([key, each]) => `${key}=${each}`)
    .join('&');
}

function pairsOf(
  name: string,
  value: unknown,
  { style, explode, isRaw }: Style,
): readonly (readonly [string, string])[] {
  const key = encoded(name);
  const plain = (item: unknown): string => encoded(item, isRaw);
  if (Array.isArray(value)) {
    if (style === 'deepObject') return value.map((item) => [`${key}%5B%5D`, plain(item)] as const);
    if (explode && style === 'form') return value.map((item) => [key, plain(item)] as const);
    return [[key, value.map(plain).join(separators[style] ?? ',')]];
  }
  if (isObject(value)) {
    const members = Object.entries(value);
    if (style === 'deepObject') return deepPairs(key, value, plain, 0);
    if (explode && style === 'form') return members.map(([member, each]) => [encoded(member), plain(each)] as const);
    return [[key, members.flatMap(([member, each]) => [encoded(member), plain(each)]).join(separators[style] ?? ',')]];
  }
  return [[key, plain(value)]];
}

const separators: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

/** `filter[size][min]=1`: deeper than the specification defines, as most services read it. */
function deepPairs(
  key: string,
  value: unknown,
  plain: (item: unknown) => string,
  depth: number,
): readonly (readonly [string, string])[] {
  if (depth < maxDepth && Array.isArray(value))
    return value.flatMap((item) => deepPairs(`${key}%5B%5D`, item, plain, depth + 1));
  if (depth < maxDepth && isObject(value))
    return Object.entries(value).flatMap(([member, each]) =>
      deepPairs(`${key}%5B${encoded(member)}%5D`, each, plain, depth + 1),
    );
  return [[key, plain(value)]];
}

/** A header: simple style. The text may hold characters that no header may. */
export function inHeader(value: unknown, { explode }: Style): string {
  if (Array.isArray(value)) return value.map(textOf).join(',');
  if (!isObject(value)) return textOf(value);
  return Object.entries(value)
    .flatMap(([member, each]) => (explode ? [`${member}=${textOf(each)}`] : [member, textOf(each)]))
    .join(',');
}
