import { anonymous, type Caller, type Client } from '@omnibus/protocol';

/** The client that a request without a session belongs to, as far as it is known: calls of one client go to one program of a stdio server. */
export function clientOf({ principal, client }: Caller): { readonly client?: Client } {
  if (client !== undefined) return { client };
  return principal === anonymous ? {} : { client: { id: principal, isOne: false } };
}
