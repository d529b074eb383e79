/** One request without a session that waits for its answer. */
import {
  clientInfoOf,
  conversationIn,
  fault,
  isJsonRpcId,
  isObject,
  metaKeys,
  tasksExtension,
  toErrorObject,
  withText,
  type GatewayFault,
  type JsonBytes,
  type JsonRpcId,
  type ModernCommand,
  type ModernReply,
} from '@omnibus/protocol';
import type { ServedClient } from '../call/transforms.ts';
import type { Requested, Requester } from '../call/watchers.ts';
import { modernDialect } from '../dialect/modern/dialect.ts';
import { modernError } from '../dialect/modern/encode.ts';
import type { StatelessHost } from './stateless-host.ts';

export interface PendingReply {
  readonly command: ModernCommand;
  readonly reply: (frame: ModernReply) => void;
}

export function send({ reply }: PendingReply, text: string): void {
  reply({ kind: 'message', text, isAnswer: false, sequence: undefined, last: false });
}

/** The end of a request. `member` is `"result":…` or `"error":…`, serialised. */
export type Settlement =
  | { readonly member: string | JsonBytes; readonly httpStatus: number }
  | { readonly fault: GatewayFault };

export function deliver(waiter: PendingReply, settlement: Settlement): void {
  if ('fault' in settlement) {
    refuse(waiter, settlement.fault);
    return;
  }
  const { member, httpStatus } = settlement;
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(waiter.command.request.id)},`;
  const rest = { kind: 'message', isAnswer: true, sequence: undefined, last: true, httpStatus } as const;
  waiter.reply(
    typeof member === 'string' ? { ...rest, text: `${head}${member}}` } : withText(rest, member.within(head, '}')),
  );
}

/** @param member as in `Settlement`. */
export function answer(waiter: PendingReply, member: string): void {
  deliver(waiter, { member, httpStatus: 200 });
}

export function answerResult(waiter: PendingReply, result: object): void {
  answer(waiter, `"result":${JSON.stringify(result)}`);
}

export function refuse(waiter: PendingReply, gatewayFault: GatewayFault): void {
  // The code of this fault is another in this revision (2026-07-28 server/resources, Error Handling).
  if (gatewayFault.reason === 'resource.unknown')
    answer(waiter, `"error":${JSON.stringify(modernError(toErrorObject(gatewayFault)))}`);
  else waiter.reply({ kind: 'refused', fault: gatewayFault });
}

/** The client of the request, for records. */
export function requesterOf({ command: { key, caller } }: PendingReply): Requester {
  return { key, asking: caller, session: undefined, dialect: modernDialect };
}

/** The client of the request, for transforms. */
export function servedClientOf(
  { command: { caller, context, request } }: PendingReply,
  { viewAlone }: Pick<StatelessHost, 'viewAlone'>,
): ServedClient {
  const meta = request.params?.['_meta'];
  return {
    asking: caller,
    session: undefined,
    info: isObject(meta) ? clientInfoOf(meta[metaKeys.clientInfo]) : undefined,
    conversation: conversationIn(meta),
    view: () => viewAlone(caller, context.capabilities),
  };
}

export function requestedIn({
  command: {
    request: { id, method, params = {} },
    trace,
  },
}: PendingReply): Requested {
  return { id, method, params, trace };
}

/** The progress token of this request; undefined where it wants none. */
export function progressTokenOf({ command }: PendingReply): JsonRpcId | undefined {
  const meta = command.request.params?.['_meta'] as Readonly<Record<string, unknown>>;
  const token = meta['progressToken'];
  return isJsonRpcId(token) ? token : undefined;
}

export const draining: GatewayFault = fault('gateway.draining');

export const { subscriptionId } = metaKeys;

/** @param needing the beginning of the message: what needs the extension, and the verb. */
export function tasksMissing(needing: string): GatewayFault {
  return fault('capability.missing', `${needing} the extension ${tasksExtension}`, {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  });
}
