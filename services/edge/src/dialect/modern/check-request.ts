/**
 * Checks a request of 2026-07-28 in the order that the specification requires: metadata, revision, headers, method
 * (basic/transports, Request Headers; HTTP status codes). The session service makes further checks.
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  decodeHeaderValue,
  fault,
  isCustomMethod,
  isModernRevision,
  isObject,
  metaKeys,
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
/** How a value begins that a header cannot contain as it is (2026-07-28 basic/transports, Custom Headers). */
const beginOfWrapped = '=?';

/** What a message says of itself, in place of a session; a fault if that is wrong. */
export type OwnContext = ModernContext | { readonly fault: GatewayFault };

const noContext: OwnContext = { capabilities: {}, logLevel: undefined };

/**
 * What a message says of itself, by its metadata or its HTTP header.
 * @param headers undefined where the transport has none.
 * @returns undefined for a message that belongs to a session.
 */
export function ownContext(posted: PostedMessage, headers: IncomingHttpHeaders | undefined): OwnContext | undefined {
  const { message } = posted;
  const meta = 'params' in message ? message.params?.['_meta'] : undefined;
  const claimed = isObject(meta) ? meta[metaKeys.protocolVersion] : undefined;
  if (claimed === undefined && !isModernRevision(headers?.[revisionHeader])) return undefined;
  return posted.kind === 'request' ? checkRequest(posted.message, claimed as string, headers) : noContext;
}

function checkRequest(
  request: JsonRpcRequest,
  requested: string,
  headers: IncomingHttpHeaders | undefined,
): OwnContext {
  const context = readModernContext(request);
  if ('problem' in context) return { fault: fault('envelope.invalid', context.problem) };
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
  const repeated = typeof header === 'string' && header.startsWith(beginOfWrapped) ? decodeHeaderValue(header) : header;
  return repeated === name ? undefined : 'Mcp-Name must be the name, URI or task id of the body';
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
