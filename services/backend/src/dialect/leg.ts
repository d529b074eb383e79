/**
 * How calls share the connections of a server. A server that speaks 2026-07-28 and an older era has two legs (`legs.ts`). Code outside this folder asks a
 * leg for its behaviour, and never for an era.
 */
export interface Leg {
  /** For operators. `unknown`: the newer leg is there, and whether there is an older one must be found out first. */
  readonly name: 'only' | 'newer' | 'older' | 'unknown';
  /** Whether each request declares its client's capabilities itself, so that one connection serves all. */
  readonly servesEverybody: boolean;
  /** Whether it is known which leg the call takes. */
  readonly isKnown: boolean;
  /** The era of its connections, all of which are opened beside the first one; undefined if they have that of the first one. */
  readonly beside: 'legacy' | undefined;
  /** Part of the keys of its connections. */
  readonly mark: string;
}

const first = { beside: undefined, mark: '', isKnown: true };

/** The single leg of a server with sessions. */
export const only: Leg = { ...first, name: 'only', servesEverybody: false };
export const newer: Leg = { ...first, name: 'newer', servesEverybody: true };
export const older: Leg = { name: 'older', servesEverybody: false, isKnown: true, beside: 'legacy', mark: 'older ' };
export const unknown: Leg = { ...first, name: 'unknown', servesEverybody: true, isKnown: false };
