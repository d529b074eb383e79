/**
 * What is answered where no server is known to have what a client names. That no list has it proves nothing of a server whose lists are
 * not known: where the name, or the configuration, tells that it would be that one's, the client is told what is wrong with it.
 */
import type { MissingServer, View } from '@omnibus/catalog';
import { fault, printable, type GatewayFault, type ServerName } from '@omnibus/protocol';

/** Missing servers that are named in one answer. */
const maxNamed = 5;

/** @param name of a tool or prompt, as the client says it. */
export function unknownEntry(view: View, kind: 'tools' | 'prompts', name: string): GatewayFault {
  const owner = view.missingOwner(kind, name);
  if (owner !== undefined) return unavailable(kind, owner);
  // A name with a server's in front is no other server's.
  const missing = view.isPrefixed ? [] : view.missing(kind);
  const unknown = `unknown ${kind === 'tools' ? 'tool' : 'prompt'} ${JSON.stringify(printable(name, 100))}`;
  return fault(kind === 'tools' ? 'tool.unknown' : 'prompt.unknown', unknown + besides(kind, missing), missing.length === 0 ? undefined : { missing: missing.slice(0, maxNamed) });
}

/** No server that could be asked knows it. */
export function unknownResource(view: View, uri: string): GatewayFault {
  const owner = view.missingOwner('resources');
  if (owner !== undefined) return unavailable('resources', owner);
  const missing = neverReached(view);
  return fault('resource.unknown', `no server knows the resource ${JSON.stringify(printable(uri, 200))}${besides('resources', missing)}`, { uri, ...(missing.length === 0 ? {} : { missing: missing.slice(0, maxNamed) }) });
}

/** Servers of which nobody knows whether they have resources. */
export function neverReached(view: View): readonly MissingServer[] {
  return view.missing('resources').filter(({ server }) => view.record(server)?.revision === undefined);
}

function unavailable(kind: string, { server, problem }: MissingServer): GatewayFault {
  return fault('upstream.unavailable', `the ${kind} of server "${server}" are not known: ${problem}`, { server });
}

/** Of which servers nobody knows, in words that follow others. */
export function besides(kind: string, missing: readonly MissingServer[]): string {
  const words = missing.slice(0, maxNamed).map(({ server, problem }) => `of "${server}": ${problem}`);
  return words.length === 0 ? '' : `; what some servers have of ${kind} is not known: ${words.join('; ')}`;
}

/** It is there, and waits to be approved. @param name as the client says it. */
export function heldBack(what: 'tool' | 'prompt', name: string, server: ServerName): GatewayFault {
  return fault('definition.held', `${what} ${JSON.stringify(printable(name, 100))} is held back: server "${server}" says something else of it than was approved; whoever runs the gateway can look at it and approve it`, { server });
}
