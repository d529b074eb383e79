/** Which server a message of a client is for that no revision knows: nothing in it tells but the endpoint, or the client. */
import type { View } from '@omnibus/catalog';
import { fault, isObject, printable, serverKey, type ErrorReason, type GatewayFault, type JsonObject, type ServerName } from '@omnibus/protocol';
import { carriesCustom } from '../../dialect/capabilities.ts';

export type CustomRoute = { readonly server: ServerName } | { readonly refused: GatewayFault };

/** @param unknown how a method that is not served is refused in the client's revision. */
export function customRoute(view: View, method: string, params: JsonObject | undefined, unknown: ErrorReason): CustomRoute {
  const { servers } = view.definition;
  const named = printable(JSON.stringify(method), 220);
  const meta = params?.['_meta'];
  const wanted = isObject(meta) ? meta[serverKey] : undefined;
  const [only, ...others] = servers;
  if (!carriesCustom(view)) return { refused: fault(unknown, `unknown method ${named}: this endpoint is a selection of tools, and carries nothing else to their servers`) };
  if (wanted !== undefined) {
    const server = servers.find((name) => name === wanted && view.mayEverythingOf(name));
    return server === undefined ? { refused: fault('params.invalid', `params._meta["${serverKey}"] must be the name of a server of this endpoint`) } : { server };
  }
  if (only === undefined) return { refused: fault(unknown, `unknown method ${named}`) };
  if (others.length === 0) return view.mayEverythingOf(only) ? { server: only } : { refused: fault(unknown, `unknown method ${named}`) };
  return { refused: fault(unknown, `no revision knows the method ${named}, and this endpoint has several servers: send it to the endpoint of its server, /mcp/<server>, or name the server in params._meta["${serverKey}"]`) };
}
