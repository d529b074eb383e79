/** What a server has to have for a request to make sense. A client that was not offered it is told that there is no such method, as the server would. */
import type { Capability, MissingServer, View } from '@omnibus/catalog';
import { isObject, methodRow, skillsExtension, type JsonObject, type JsonRpcRequest } from '@omnibus/protocol';
import { besides, neverReached } from './unknown-entry.ts';

/** Every capability a client may be told of. */
export const capabilities: readonly Capability[] = ['tools', 'prompts', 'resources', 'resources.subscribe', 'completions', 'logging'];

/**
 * What stands in the way of a request that needs something no server behind the endpoint has, in words; undefined when nothing does. One
 * that names something of a server of which nothing is known yet goes on: it is answered what is wrong with that one.
 * @param offered what the client was told that there is: it is not taken back while its session lasts.
 */
export function missingCapability({ method, params }: JsonRpcRequest, view: View, offered: ReadonlySet<string>): string | undefined {
  const row = methodRow(method);
  const capability = row?.by === 'client' ? row.needs : undefined;
  if (capability === undefined || offered.has(capability)) return undefined;
  if (capability === skillsExtension ? view.offersExtension(capability) : view.offers(capability as Capability)) return undefined;
  if (ownerOfNamed(method, params ?? {}, view) !== undefined) return undefined;
  return `${method}: no server behind this endpoint has ${capability}${besides(capability, neverReached(view))}`;
}

function ownerOfNamed(method: string, { name, ref }: JsonObject, view: View): MissingServer | undefined {
  if (method.endsWith('/list') || method === 'logging/setLevel') return undefined;
  const prompt = method === 'prompts/get' ? name : isObject(ref) && ref['type'] === 'ref/prompt' ? ref['name'] : undefined;
  const owner = typeof prompt === 'string' ? view.missingOwner('prompts', prompt) : view.missingOwner('resources');
  // One that was reached before had it then, or did not.
  return neverReached(view).find((each) => each.server === owner?.server);
}

/** What a client is told, as it is kept. */
export function offeredBy(view: View): readonly string[] {
  return [...capabilities.filter((capability) => view.offers(capability)), ...(view.offersExtension(skillsExtension) ? [skillsExtension] : [])];
}
