/** Which server a message with a method that no revision defines is for: the only server of the endpoint, or the one that the client names in `_meta`. */
import type { View } from '@omnibus/catalog';
import {
  fault,
  isObject,
  printable,
  serverKey,
  type ErrorReason,
  type GatewayFault,
  type JsonObject,
  type ServerName,
} from '@omnibus/protocol';
import { carriesCustom } from '../../dialect/capabilities.ts';

export type CustomRoute = { readonly server: ServerName } | { readonly refused: GatewayFault };

/** @param unknown reason with which the client's revision refuses a method that is not served. */
export function customRoute(
  view: View,
  method: string,
  params: JsonObject | undefined,
  unknown: ErrorReason,
): CustomRoute {
  const { servers } = view.definition;
  const named = printable(JSON.stringify(method), 220);
  const meta = params?.['_meta'];
  const wanted = isObject(meta) ? meta[serverKey] : undefined;
  const [only, ...others] = servers;
  if (!carriesCustom(view))
    return {
      refused: fault(
        unknown,
        `unknown method ${named}: this endpoint is a selection of tools, and carries nothing else to their servers`,
      ),
    };
  if (wanted !== undefined) {
    const server = servers.find((name) => name === wanted && view.mayEverythingOf(name));
    return server === undefined
      ? {
          refused: fault(
            'params.invalid',
            `params._meta["${serverKey}"] must be the name of a server of this endpoint`,
          ),
        }
      : { server };
  }
  if (only === undefined) return { refused: fault(unknown, `unknown method ${named}`) };
  if (others.length === 0)
    return view.mayEverythingOf(only) ? { server: only } : { refused: fault(unknown, `unknown method ${named}`) };
  return {
    refused: fault(
      unknown,
      `no revision knows the method ${named}, and this endpoint has several servers: send it to the endpoint of its server, /mcp/<server>, or name the server in params._meta["${serverKey}"]`,
    ),
  };
}
