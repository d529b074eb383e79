/** Messages of servers outside calls for the client of one session. */
import { notificationText, type ServerName, type ServerNotice } from '@omnibus/protocol';
import { publicElicitation } from '../public-ids/elicitation-ids.ts';
import type { CallScreen, CallTransform, Questioner } from '../call/transform.ts';
import { transformOf } from '../call/transforms.ts';
import type { SessionParts } from './session-parts.ts';

/** A notice that names the sessions it is for. */
export type SessionNotice = Exclude<ServerNotice, { readonly kind: 'adapter-changed' }>;

/** Kinds of notices that a server sends unprompted; others belong to tasks or questions of the client. */
const unasked: ReadonlySet<string> = new Set<SessionNotice['kind']>(['resource-updated', 'log', 'notification']);

export function hearNotice(parts: SessionParts, said: SessionNotice): void {
  const { host, client, sight } = parts;
  if (!said.sessions.includes(client.key)) return;
  const { view } = sight;
  if (view?.definition.servers.includes(said.server) !== true) return;
  if (unasked.has(said.kind) && host.barrier.problemOf(client.facts, said.server, undefined, true) !== undefined)
    return;
  if (mayBeOfWiderKey(said) && client.facts?.tools !== undefined && !view.mayEverythingOf(said.server)) return;
  screened(parts, said, (notice) => deliver(parts, notice));
}

/** Whether a call of the same user's other client, with a key for more tools, can have caused a server's message without a call. */
function mayBeOfWiderKey(said: SessionNotice): boolean {
  return (said.kind === 'log' || said.kind === 'notification') && said.isOwn !== true;
}

function deliver(
  { host, client, sight: { view }, streams, forwarding, questions }: SessionParts,
  notice: SessionNotice,
): void {
  // The endpoint may have been removed meanwhile.
  if (view === undefined) return;
  const { messages } = forwarding;
  switch (notice.kind) {
    case 'question':
      if (notice.tool === undefined || view.mayHaveTask(notice.server, notice.tool)) questions.outsideCalls(notice);
      else questions.refuseOutsideCalls(notice);
      return;
    case 'question-withdrawn':
      questions.withdrawOutsideCalls(notice);
      return;
    case 'task-status':
      if (client.taskMode() === 'requested' && view.mayHaveTask(notice.server, notice.tool))
        streams.push(notificationText('notifications/tasks/status', messages.task(notice)));
      return;
    case 'task-progress':
      if (!view.mayHaveTask(notice.server, notice.tool)) return;
      forwarding.taskProgressed(notice);
      host.ownTasks?.taskProgressed(client.key, notice);
      return;
    case 'resource-updated':
      if (view.mayHave(notice.server, notice.uri))
        streams.push(
          notificationText('notifications/resources/updated', {
            ...notice.more,
            uri: view.resources.publicUri(notice.server, notice.uri),
          }),
        );
      return;
    case 'log': {
      const text = messages.log(view, notice.server, notice.params);
      if (text !== undefined) streams.push(text);
      return;
    }
    case 'notification':
      streams.push(messages.notification(notice.server, notice.method, notice.params));
      return;
    case 'elicitation-complete':
      streams.push(
        notificationText(
          'notifications/elicitation/complete',
          publicElicitation(notice.server, { ...notice.more, elicitationId: notice.elicitationId }),
        ),
      );
  }
}

/** Looks at answers of the client to questions outside calls of a server, before they are passed on. */
export function askerOutsideCalls(
  parts: Pick<SessionParts, 'host' | 'client'>,
  server: ServerName,
  waits: Questioner,
): Questioner {
  const { host, client } = parts;
  const screen = host.access.on
    ?.of(client.asking)
    ?.screen({ kind: 'server', server, name: 'question', method: 'question' });
  return transformOutsideCalls(parts, server, screen)?.asker(waits) ?? waits;
}

function transformOutsideCalls(
  { host, client }: Pick<SessionParts, 'host' | 'client'>,
  server: ServerName,
  screen: CallScreen | undefined,
): CallTransform | undefined {
  return transformOf(host.transforms.on, { method: 'question', screen }, { server }, client);
}

/** Passes a notice on as access rules and guardrails permit it: those for the tool that a task runs, and otherwise all that apply to the server. */
function screened(parts: SessionParts, notice: SessionNotice, pass: (notice: SessionNotice) => void): void {
  const { host, client, sight, questions } = parts;
  const { server } = notice;
  const tool = 'tool' in notice ? notice.tool : undefined;
  const screen = host.access.on?.of(client.asking)?.screen(
    tool === undefined
      ? { kind: 'server', server, name: notice.kind, method: notice.kind }
      : {
          kind: 'tool',
          server,
          name: tool,
          method: 'tasks/get',
          entry: sight.view?.toolOf(server, tool),
          isBegun: true,
        },
  );
  if (screen === undefined) {
    pass(notice);
    return;
  }
  switch (notice.kind) {
    case 'question':
      (transformOutsideCalls(parts, server, screen) ?? screen).question(
        { kind: 'input', input: notice.input, method: notice.method, params: notice.params },
        ({ params }) => pass({ ...notice, params }),
        (answer) => questions.answerOutsideCalls(notice, answer),
      );
      return;
    case 'log':
      screen.said('notifications/message', notice.params, (params) => pass({ ...notice, params }));
      return;
    case 'notification':
      screen.said(notice.method, notice.params, (params) =>
        pass(params === undefined ? notice : { ...notice, params }),
      );
      return;
    case 'resource-updated':
    case 'elicitation-complete':
      screen.said(
        `notifications/${notice.kind === 'resource-updated' ? 'resources/updated' : 'elicitation/complete'}`,
        notice.more,
        (more) => pass(more === undefined ? notice : { ...notice, more }),
      );
      return;
    case 'task-status':
      screen.outcome({ kind: 'result', result: notice.task }, (outcome) => {
        if (outcome.kind === 'result') pass({ ...notice, task: outcome.result });
      });
      return;
    case 'task-progress':
      screen.progress(notice.progress, (progress) => pass({ ...notice, progress }));
      return;
    default:
      pass(notice);
  }
}
