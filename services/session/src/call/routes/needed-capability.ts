/** The capability that a request needs. Without it, the client gets "no such method", as from a server. */
import type { Capability, MissingServer, View } from '@omnibus/catalog';
import { isObject, methodRow, skillsExtension, type JsonObject, type JsonRpcRequest } from '@omnibus/protocol';
import { serverFeatures } from '../../dialect/servers.ts';
import { besides, neverReached } from './unknown-entry.ts';

/** Every capability that may be offered to a client. */
const capabilities: readonly Capability[] = [
  'tools',
  'prompts',
  'resources',
  'resources.subscribe',
  'completions',
  'logging',
];

/**
 * Why a request cannot be served because no server of the endpoint has the capability, in words; undefined where one has it, or decides itself: the only
 * server of an open endpoint, and the one that has the completed prompt or resource. A request for an entry of a server that was never reached continues: it is
 * answered with that server's problem.
 * @param offered the capabilities that the client was offered, which stay so while its session lasts.
 */
export function missingCapability(
  { method, params }: JsonRpcRequest,
  view: View,
  offered: ReadonlySet<string>,
): string | undefined {
  const row = methodRow(method);
  const capability = row?.by === 'client' ? row.needs : undefined;
  if (capability === undefined || offered.has(capability)) return undefined;
  if (
    capability === skillsExtension ? Object.hasOwn(view.extensions, capability) : view.offers(capability as Capability)
  )
    return undefined;
  if (answersItself(capability, method, params ?? {}, view)) return undefined;
  if (ownerOfNamed(method, params ?? {}, view) !== undefined) return undefined;
  return `${method}: no server behind this endpoint has ${capability}${besides(capability, neverReached(view))}`;
}

function answersItself(capability: string, method: string, { ref }: JsonObject, view: View): boolean {
  const { open } = view;
  if (open !== undefined && capability !== skillsExtension) {
    // A server without such a method cannot say whether it takes a level.
    return capability !== 'logging' || serverFeatures(view, open).hasLogLevels;
  }
  if (method !== 'completion/complete' || !isObject(ref)) return false;
  const { name, uri } = ref;
  return typeof name === 'string'
    ? view.promptRoute(name) !== undefined
    : typeof uri === 'string' && view.resourceRoute(uri) !== undefined;
}

function ownerOfNamed(method: string, { name, ref }: JsonObject, view: View): MissingServer | undefined {
  if (method.endsWith('/list') || method === 'logging/setLevel') return undefined;
  const prompt =
    method === 'prompts/get' ? name : isObject(ref) && ref['type'] === 'ref/prompt' ? ref['name'] : undefined;
  const owner = typeof prompt === 'string' ? view.missingOwner('prompts', prompt) : view.missingOwner('resources');
  // The lists of a server that was reached before are known.
  return neverReached(view).find((each) => each.server === owner?.server);
}

/** Sessions with the same offer share its set. There are few: one for each choice of capabilities. */
const offers = new Map<string, ReadonlySet<string>>();

/** The capabilities and extensions that a view offers, in the form that a session stores. */
export function offeredBy(view: View): ReadonlySet<string> {
  const offered = [
    ...capabilities.filter((capability) => view.offers(capability)),
    ...(Object.hasOwn(view.extensions, skillsExtension) ? [skillsExtension] : []),
  ];
  const key = offered.join(' ');
  const known = offers.get(key) ?? new Set(offered);
  offers.set(key, known);
  return known;
}
