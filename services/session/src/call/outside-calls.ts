/** What becomes of messages of servers outside calls, on their way to a client. */
import type { JsonObject, ServerName, ServerNotice } from '@omnibus/protocol';
import type { CallHost } from './call-host.ts';
import type { Wanted } from './permission.ts';
import { unchanged, type CallTransform } from './transform.ts';
import { transformOf, type ServedClient } from './transforms.ts';

type Said = Pick<ServerNotice, 'kind'> & {
  readonly server: ServerName;
  /** The server's own name of the tool whose task the message is about. */
  readonly tool?: string | undefined;
};

/** @returns what access rules, guardrails and labels make of it: those for its tool, and otherwise all that apply to the server. */
export function transformOutsideCalls(
  { access, transforms }: Pick<CallHost, 'access' | 'transforms'>,
  client: ServedClient,
  { kind, server, tool }: Said,
): CallTransform {
  const wanted: Wanted =
    tool === undefined
      ? { kind: 'server', server, name: kind, method: kind }
      : {
          kind: 'tool',
          server,
          name: tool,
          method: 'tasks/get',
          entry: client.view()?.toolOf(server, tool),
          isBegun: true,
        };
  const screen = access.on?.of(client.asking)?.screen(wanted);
  if (screen === undefined) return unchanged;
  const to = tool === undefined ? { server } : { server, tool };
  return transformOf(transforms.on, { method: wanted.method, screen }, to, client) ?? unchanged;
}

/**
 * Passes on what a server says beside an id or a URI. Alone, that says nothing, so it is passed on in any case.
 * @param then gets an empty object in place of what must not be passed on.
 */
export function saidBeside(
  transform: CallTransform,
  event: string,
  more: JsonObject,
  then: (more: JsonObject) => void,
): void {
  let isSaid = false;
  transform.said(event, more, (shown) => {
    isSaid = true;
    then(shown);
  });
  transform.after(() => {
    if (!isSaid) then({});
  });
}
