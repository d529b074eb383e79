import { anonymous, type Caller, type Client } from '@omnibus/protocol';

/** Whose a request without a session is, where somebody knows: calls of one go to one program. */
export function clientOf({ principal, client }: Caller): { readonly client?: Client } {
  if (client !== undefined) return { client };
  return principal === anonymous ? {} : { client: { id: principal, isOne: false } };
}
