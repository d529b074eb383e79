export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

/** The media types that the client accepts. Clients must name both (transports, Sending Messages); the gateway also serves those that name one or none. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined) return { json: true, events: false };
  if (header.includes('application/json') && header.includes('text/event-stream')) return { json: true, events: true };
  const types = header.split(',').map((part) => part.split(';', 1)[0]?.trim().toLowerCase());
  const isAny = types.includes('*/*');
  return {
    json: isAny || types.includes('application/json') || types.includes('application/*'),
    events: isAny || types.includes('text/event-stream') || types.includes('text/*'),
  };
}

/** Whether a header names JSON; parameters and case do not matter. */
export function isJsonMediaType(header: string | undefined): boolean {
  if (header === undefined) return false;
  if (header === 'application/json') return true;
  return header.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}
