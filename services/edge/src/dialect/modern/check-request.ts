/**
 * Checks a request of 2026-07-28 in the order that the specification requires: metadata, revision, headers, method
 * (basic/transports, Request Headers; HTTP status codes). The session service makes further checks.
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  claimedRevision,
  decodeHeaderValue,
  fault,
  isCustomMethod,
  isModernRevision,
  modernMethods,
  modernRevisions,
  namedBy,
  readModernContext,
  type GatewayFault,
  type JsonRpcRequest,
  type ModernContext,
  type PostedMessage,
} from '@omnibus/protocol';

const revisionHeader = 'mcp-protocol-version';
const parameterPrefix = 'mcp-param-';

/** Whether a message needs no session, as in 2026-07-28: by its metadata, else by its HTTP header. */
export function standsAlone({ message }: PostedMessage, headers: IncomingHttpHeaders | undefined): boolean {
  const params = 'params' in message ? message.params : undefined;
  return claimedRevision(params) !== undefined || isModernRevision(headers?.[revisionHeader]);
}

/** Checks one request. @param headers undefined where the transport has none. */
export function checkRequest(
  request: JsonRpcRequest,
  headers: IncomingHttpHeaders | undefined,
): ModernContext | { readonly fault: GatewayFault } {
  const context = readModernContext(request);
  if ('problem' in context) return { fault: fault('envelope.invalid', context.problem) };
  const requested = claimedRevision(request.params)?.value as string;
  if (headers !== undefined && headers[revisionHeader] !== requested)
    return { fault: fault('header.mismatch', 'MCP-Protocol-Version must be the revision the body names') };
  if (!isModernRevision(requested)) {
    return {
      fault: fault('revision.unknown', `revision ${JSON.stringify(requested.slice(0, 40))} is not spoken here`, {
        supported: modernRevisions,
        requested,
      }),
    };
  }
  const mismatch = headers === undefined ? undefined : headerProblem(request, headers);
  if (mismatch !== undefined) return { fault: fault('header.mismatch', mismatch) };
  if (!modernMethods.has(request.method) && !isCustomMethod(request.method))
    return { fault: fault('method.removed', `unknown method ${JSON.stringify(request.method.slice(0, 100))}`) };
  return context;
}

function headerProblem({ method, params }: JsonRpcRequest, headers: IncomingHttpHeaders): string | undefined {
  if (headers['mcp-method'] !== method) return 'Mcp-Method must be the method of the body';
  const name = namedBy(method, params);
  if (typeof name !== 'string') return undefined;
  const header = headers['mcp-name'];
  return typeof header === 'string' && decodeHeaderValue(header) === name
    ? undefined
    : 'Mcp-Name must be the name, URI or task id of the body';
}

/** The `Mcp-Param-*` headers, which the session service compares with the arguments of the tool. */
export function readParameterHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (name.startsWith(parameterPrefix) && typeof value === 'string')
      Object.defineProperty(found, name.slice(parameterPrefix.length), { value, enumerable: true });
  }
  return found;
}
