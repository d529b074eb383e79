/** What tools say of the pages that show their results (extension io.modelcontextprotocol/ui, 2026-01-26, Resource Discovery). */
import { isObject, type JsonObject } from '@omnibus/protocol';

/** The scheme of pages, which hosts insist on. */
export const pageScheme = 'ui://';
/** Flat keys that hold the same address: the older one of the extension, and that of the Apps SDK which it comes from. */
const flatKeys = ['ui/resourceUri', 'openai/outputTemplate'] as const;

/** The addresses of pages that a tool names, as its server writes them. */
export function pageUris({ _meta: meta }: JsonObject): readonly string[] {
  if (!isObject(meta)) return [];
  const { ui } = meta;
  return [isObject(ui) ? ui['resourceUri'] : undefined, ...flatKeys.map((key) => meta[key])].filter(isPage);
}

/** Whether pages of the tool's server may call the tool: they may unless it says otherwise. */
export function isForPages({ _meta: meta }: JsonObject): boolean {
  const ui = isObject(meta) ? meta['ui'] : undefined;
  const visibility = isObject(ui) ? ui['visibility'] : undefined;
  return !Array.isArray(visibility) || visibility.includes('app');
}

/** A tool with the addresses of pages that clients use. @returns the same object where they are the server's own. */
export function withPublicPages<Entry extends JsonObject>(entry: Entry, publicUri: (uri: string) => string): Entry {
  const uris = pageUris(entry);
  if (uris.every((uri) => publicUri(uri) === uri)) return entry;
  const meta = entry['_meta'] as JsonObject;
  const { ui } = meta;
  const mapped = (value: unknown): unknown => (isPage(value) ? publicUri(value) : value);
  return {
    ...entry,
    _meta: {
      ...meta,
      ...(isObject(ui)
        ? { ui: { ...ui, ...('resourceUri' in ui ? { resourceUri: mapped(ui['resourceUri']) } : {}) } }
        : {}),
      ...Object.fromEntries(flatKeys.filter((key) => key in meta).map((key) => [key, mapped(meta[key])])),
    },
  };
}

function isPage(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(pageScheme);
}
