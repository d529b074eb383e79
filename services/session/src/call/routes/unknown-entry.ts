/**
 * Answers for names that no known list has. A server with unknown lists may have it: if the name or the configuration shows that it would
 * be that server's, the client gets the server's problem instead.
 */
import { signInRoute, type MissingServer, type Route, type SignInRoute, type View } from '@omnibus/catalog';
import { fault, printable, type GatewayFault } from '@omnibus/protocol';

/** Missing servers that one answer names at most. */
const maxNamed = 5;

/** @param name of a tool or prompt, as the client sent it. */
export function unknownEntry(view: View, kind: 'tools' | 'prompts', name: string): GatewayFault {
  const owner = view.missingOwner(kind, name);
  if (owner !== undefined) return unavailable(kind, owner);
  const asks = signInRoute(view, kind, name);
  if (asks !== undefined) return signInFirst(asks);
  // With prefixes the name shows its server, so no other missing server can have it.
  const missing = view.isPrefixed ? [] : view.missing(kind);
  const unknown = `unknown ${kind === 'tools' ? 'tool' : 'prompt'} ${JSON.stringify(printable(name, 100))}`;
  return fault(
    kind === 'tools' ? 'tool.unknown' : 'prompt.unknown',
    unknown + besides(kind, missing),
    missing.length === 0 ? undefined : { missing: missing.slice(0, maxNamed) },
  );
}

/** The answer for a URI that no reachable server knows. @param unasked servers without an answer. @param said further errors of servers. */
export function unknownResource(
  view: View,
  uri: string,
  unasked: readonly MissingServer[] = [],
  said: readonly string[] = [],
): GatewayFault {
  const owner = view.missingOwner('resources');
  if (owner !== undefined) return unavailable('resources', owner);
  const asks = signInRoute(view, 'resources');
  if (asks !== undefined) return signInFirst(asks);
  const missing = [...neverReached(view), ...unasked];
  return fault(
    'resource.unknown',
    `no server knows the resource ${JSON.stringify(printable(uri, 200))}${said.map((each) => `; ${each}`).join('')}${besides('resources', missing)}`,
    {
      uri,
      ...(missing.length === 0 ? {} : { missing: missing.slice(0, maxNamed) }),
      ...(unasked.length === 0 ? {} : { retry: 'same' }),
    },
  );
}

/** Servers that were never reached, so that it is not known whether they have resources. */
export function neverReached(view: View): readonly MissingServer[] {
  return view.missing('resources').filter(({ server }) => view.record(server)?.revision === undefined);
}

function signInFirst({ name, route: { server } }: SignInRoute): GatewayFault {
  return fault(
    'upstream.sign_in',
    `The server "${server}" wants its user to sign in first. The tool ${JSON.stringify(name)} says where.`,
    { server },
  );
}

function unavailable(kind: string, { server, problem }: MissingServer): GatewayFault {
  return fault('upstream.unavailable', `the ${kind} of server "${server}" are not known: ${problem}`, { server });
}

/** The end of a message that names the servers with unknown lists; empty if there are none. */
export function besides(kind: string, missing: readonly MissingServer[]): string {
  const words = missing.slice(0, maxNamed).map(({ server, problem }) => `of "${server}": ${problem}`);
  return words.length === 0 ? '' : `; what some servers have of ${kind} is not known: ${words.join('; ')}`;
}

/** The refusal of a tool that a page calls by its server's own name, if the client may show pages of several servers with such a tool. */
export function severalPages(name: string, tools: readonly { readonly publicName: string }[]): GatewayFault {
  const names = tools.slice(0, maxNamed).map(({ publicName }) => JSON.stringify(printable(publicName, 100)));
  return fault(
    'tool.unknown',
    `several servers with pages have a tool ${JSON.stringify(printable(name, 100))}; call it by one of these names: ${names.join(', ')}`,
  );
}

/** The refusal of a tool or prompt that is in no list. @param name as the client sent it. */
export function leftOut(
  kind: 'tools' | 'prompts',
  name: string,
  { server, unfit }: Pick<Route, 'server' | 'unfit'>,
): GatewayFault {
  const what = kind === 'tools' ? 'tool' : 'prompt';
  return fault(
    `${what}.unknown`,
    `the ${what} ${JSON.stringify(printable(name, 100))} is in no list, since its definition by server "${server}" cannot be used: ${unfit ?? ''}. An operator can correct it`,
    { server },
  );
}

/** The refusal of a tool or prompt that waits for approval. @param name as the client sent it. */
export function heldBack(
  what: 'tool' | 'prompt',
  name: string,
  { server, guardrail }: Pick<Route, 'server'> & Partial<Pick<Route, 'guardrail'>>,
): GatewayFault {
  if (guardrail !== undefined)
    return fault(
      'guardrail.denied',
      `${what} ${JSON.stringify(printable(name, 100))} is kept from clients: what server "${server}" says of it may not be passed on`,
      { guardrail, server },
    );
  return fault(
    'definition.held',
    `${what} ${JSON.stringify(printable(name, 100))} is held back: its definition at server "${server}" differs from the approved one; an operator of the gateway can review and approve it`,
    { server },
  );
}
