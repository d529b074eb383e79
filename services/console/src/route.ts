/** Addresses within the page, such as `#/servers/github?state=down`. They are in the fragment, so that the page works under any path prefix and navigation needs no request. */
import { computed, signal } from '@preact/signals';

interface Place {
  readonly view: string;
  /** The selected entry of the view, such as a server. */
  readonly item: string | undefined;
  readonly query: URLSearchParams;
}

const hash = signal(location.hash);

export const place = computed<Place>(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?', 2);
  const [view = '', ...item] = path.split('/');
  return {
    view: view === '' ? 'overview' : view,
    item: item.length === 0 ? undefined : decoded(item.join('/')),
    query: new URLSearchParams(query),
  };
});

/** Replaces an address that must not stay visible, such as one with a key in it, by that of the first view. */
export function hideAddress(): void {
  history.replaceState(null, '', `${location.pathname}${location.search}#/overview`);
  hash.value = location.hash;
}

export function followAddress(): () => void {
  const changed = (): void => {
    hash.value = location.hash;
  };
  addEventListener('hashchange', changed);
  // The address may have changed between the first look at it and now.
  changed();
  return () => removeEventListener('hashchange', changed);
}

export function hrefOf(view: string, item?: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const asked = new URLSearchParams(
    Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
  return `#/${view}${item === undefined ? '' : `/${encodeURIComponent(item)}`}${asked.size === 0 ? '' : `?${asked.toString()}`}`;
}

export function go(href: string): void {
  location.hash = href;
}

/** Changes parameters of the address without an entry in the history, so that each letter of a filter is no step of "back". */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { view, item, query } = place.value;
  history.replaceState(null, '', hrefOf(view, item, { ...Object.fromEntries(query), ...changes }));
  hash.value = location.hash;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not percent-encoded, as when it was typed by hand.
  }
}
