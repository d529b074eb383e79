/**
 * Finds addresses in texts by their hosts. Many clients load an image in Markdown or HTML without a question to the user, so its address can carry data
 * out that a model has read. Each expression does a bounded amount of work for each character; an address that may belong to an image counts as one.
 */
import { compileGlob } from '@omnibus/protocol';
import type { Replace } from '../redaction/patterns.ts';
import type { UrlSettings } from './settings.ts';

const removed = '[link removed]';
/** An address as browsers parse it: any number of slashes of either kind, or none (WHATWG URL, special schemes). */
const address =
  /(?:https?|wss?|ftp):[\\/]{0,8}(?:\[[\da-f:.]{2,45}\][^\s<>"'`)\]}|\\,]{0,4000}|[^\s<>"'`)\]}|\\,]{1,4000})/giu;
const scheme = /^((?:https?|wss?|ftp):)[\\/]*/iu;
/** The beginning of an image in Markdown, and the target of an image or link. */
const markdown = /(!\[)|(\]\(\s{0,8}<?)([^)(<>\s[\]]{1,4000})/gu;
/** A definition that an image or link refers to by its label. */
const definition = /(^ {0,3}\[[^\]\n]{1,1000}\]:[ \t]{0,8}\n? {0,8}<?)([^\s>]{1,4000})/gmu;
/** Attributes of HTML, rules and functions of CSS, and the refreshing of a page, which load their targets without a click. */
const loaded =
  /(\b(?:src|srcset|poster|background|data|xlink:href)\s{0,8}=\s{0,8}["']?|<(?:image|link|use|feimage|base)\b[^<>]{0,200}?\bhref\s{0,8}=\s{0,8}["']?|\burl\(\s{0,8}["']?|@import\s{0,8}["']|;\s{0,8}url\s{0,8}=\s{0,8}["']?)([^"'>)]{1,4000})/giu;
/** Targets of HTML that need a click. */
const clicked = /(\b(?:href|action|ping|cite)\s{0,8}=\s{0,8}["']?)([^"'>)]{1,4000})/giu;
/** A character of HTML, which Markdown knows too, and punctuation that Markdown escapes: a renderer reads other characters in place of them (CommonMark 0.31.2 sections 2.4 and 2.5). */
const written =
  /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(colon|sol|bsol|period|commat|num|quest|lowbar|hyphen|Tab|NewLine|amp));?|\\([!-/:-@[-`{-~])/giu;
const named: Readonly<Record<string, string>> = {
  colon: ':',
  sol: '/',
  bsol: '\\',
  period: '.',
  commat: '@',
  num: '#',
  quest: '?',
  lowbar: '_',
  hyphen: '-',
  tab: '\t',
  newline: '\n',
  amp: '&',
};

/** @throws {Error} with a message for the operator when a host has no valid form. */
export function urlReplace({ hosts, only }: UrlSettings): Replace {
  for (const host of hosts)
    if (!/^[\w.*?{},-]{1,253}(:\d{1,5})?$/.test(host))
      throw new Error(
        `expected the name of a host such as "docs.example.com" or "*.example.com", got ${JSON.stringify(host)}`,
      );
  const tests = hosts.map((host) => compileGlob(host.toLowerCase()));
  const isAllowed = (found: string): boolean => {
    const host = hostOf(found);
    return host === undefined || tests.some((test) => test(host.name) || test(host.withPort));
  };
  const cleaned = (given: string): string => (isAllowed(given) ? given : removed);
  /** Of a target that a renderer decodes: the decoded one must be allowed too. */
  const cleanedTarget = (given: string): string => (isAllowed(given) && isAllowed(readAs(given)) ? given : removed);
  const addresses = (text: string): string => text.replace(address, cleaned);
  const targets = (text: string): string => {
    let isImage = false;
    // Links need a click; where all addresses are looked at, they are read like images.
    const isOfMarkdown = text.includes(only === 'images' ? '![' : '](');
    const inMarkdown = !isOfMarkdown
      ? text
      : text
          .replace(
            markdown,
            (all: string, opening: string | undefined, before: string | undefined, target: string | undefined) => {
              if (opening !== undefined || (!isImage && only === 'images') || target === undefined) {
                isImage ||= opening !== undefined;
                return all;
              }
              isImage = false;
              return `${before ?? ''}${cleanedTarget(target)}`;
            },
          )
          .replace(definition, (_all, before: string, target: string) => `${before}${cleanedTarget(target)}`);
    const inAttributes = (_all: string, before: string, several: string): string =>
      `${before}${several
        .split(/(\s+|,)/u)
        .map(cleanedTarget)
        .join('')}`;
    const inHtml = inMarkdown.replace(loaded, inAttributes);
    return only === 'images' ? inHtml : inHtml.replace(clicked, inAttributes);
  };
  if (only === 'images') return (text) => (/[!=(@]/u.test(text) ? targets(text) : text);
  return (text) => (/[:!=(@]/u.test(text) ? targets(addresses(text)) : text);
}

/** A target as a renderer reads it. */
function readAs(text: string): string {
  return text.replace(
    written,
    (
      found,
      decimal: string | undefined,
      hexadecimal: string | undefined,
      name: string | undefined,
      escaped: string | undefined,
    ) => {
      const code =
        decimal === undefined
          ? hexadecimal === undefined
            ? undefined
            : Number.parseInt(hexadecimal, 16)
          : Number(decimal);
      if (code !== undefined) return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : found;
      return escaped ?? named[name?.toLowerCase() ?? ''] ?? found;
    },
  );
}

/** @returns undefined for an address that loads nothing from another host. */
function hostOf(text: string): { readonly name: string; readonly withPort: string } | undefined {
  // `//host/path` names a host, `path` does not.
  const url = URL.parse(text.replace(scheme, '$1//'), 'https://relative.invalid/');
  if (url === null) return scheme.test(text) || /^[\\/]{2}/u.test(text) ? { name: '', withPort: '' } : undefined;
  if (url.host === 'relative.invalid' || url.host === '') return undefined;
  const name = url.hostname.replace(/\.$/, '');
  return { name, withPort: url.port === '' ? name : `${name}:${url.port}` };
}
