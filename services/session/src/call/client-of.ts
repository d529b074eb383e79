import { anonymous, type Caller, type Client, type Facts } from '@omnibus/protocol';

/** The client that a request without a session belongs to, as far as it is known: calls of one client go to one program of a stdio server. */
export function clientOf({ principal, client }: Caller): { readonly client?: Client } {
  if (client !== undefined) return { client };
  return principal === anonymous ? {} : { client: { id: principal, isOne: false } };
}

/** Who shares a budget: the principal that was proven; callers who are not known are told apart by their address, as far as the edge knows it. */
export function shareOf({ principal, origin }: Caller, facts: Facts | undefined): string {
  return facts?.principal ?? origin ?? principal;
}
