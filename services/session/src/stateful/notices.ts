/** Messages of servers outside calls for the client of one session. */
import type { View } from '@omnibus/catalog';
import { fault, notificationText, toErrorObject, type ServerName, type ServerNotice } from '@omnibus/protocol';
import { publicElicitation } from '../public-ids/elicitation-ids.ts';
import { saidBeside, transformOutsideCalls } from '../call/outside-calls.ts';
import { maxWaiting } from '../call/in-order.ts';
import type { CallTransform, Questioner } from '../call/transform.ts';
import type { SessionParts } from './session-parts.ts';

/** A notice that names the sessions it is for. */
export type SessionNotice = Exclude<ServerNotice, { readonly kind: 'adapter-changed' }>;

/** Kinds of notices that a server sends unprompted; others belong to tasks or questions of the client. */
const unasked: ReadonlySet<string> = new Set<SessionNotice['kind']>(['resource-updated', 'log', 'notification']);

/** A notice of a kind does not wait if so many messages of its server wait already: those that a server sends in a flood leave room for others. */
const most: Readonly<Record<SessionNotice['kind'], number>> = {
  log: maxWaiting,
  notification: maxWaiting,
  'resource-updated': maxWaiting,
  'task-progress': maxWaiting,
  'task-status': maxWaiting,
  'elicitation-complete': 2 * maxWaiting,
  question: 2 * maxWaiting,
  'question-withdrawn': 3 * maxWaiting,
};

export function hearNotice(parts: SessionParts, said: SessionNotice): void {
  const { host, client, sight, orders } = parts;
  if (!said.sessions.includes(client.key)) return;
  if (!mayHave(parts, sight.view, said)) return;
  if (said.kind === 'resource-updated' && said.more === undefined) {
    // Its URI alone says nothing.
    deliver(parts, said);
    return;
  }
  const isHeard = orders.run(
    said.server,
    (done) => {
      const transform = transformOutsideCalls(host, client, said);
      transformed(parts, said, transform, (notice) => deliver(parts, notice));
      transform.after(done);
    },
    most[said.kind],
  );
  if (!isHeard) leaveOut(parts, said);
}

/** Too many messages of the server wait: does what can be done at once. */
function leaveOut(parts: SessionParts, said: SessionNotice): void {
  parts.host.metrics.dropped('queue_full');
  // The URI or the id alone says nothing.
  if (said.kind === 'resource-updated' || said.kind === 'elicitation-complete') deliver(parts, { ...said, more: {} });
  else if (said.kind === 'question-withdrawn') deliver(parts, said);
  else if (said.kind === 'question')
    parts.questions.answerOutsideCalls(said, {
      error: toErrorObject(fault('session.busy', `${most.question} messages of the server wait for their checks`)),
    });
}

/** Whether a call of the same user's other client, with a key for more tools, can have caused a server's message without a call. */
function mayBeOfWiderKey(said: SessionNotice): boolean {
  return (said.kind === 'log' || said.kind === 'notification') && said.isOwn !== true;
}

/** Whether the client may have it by its present rights, and wants it. A question that it may not have is refused. */
function mayHave(
  { host, client, questions }: SessionParts,
  view: View | undefined,
  notice: SessionNotice,
): view is View {
  const { kind, server } = notice;
  if (view?.definition.servers.includes(server) !== true) return false;
  if (unasked.has(kind) && host.barrier.problemOf(client.facts, server, undefined, true) !== undefined) return false;
  if (kind === 'log' && !client.wantsLog(notice.params)) return false;
  if (mayBeOfWiderKey(notice) && client.facts?.tools !== undefined && !view.mayEverythingOf(server)) return false;
  switch (notice.kind) {
    case 'question':
      if (notice.tool === undefined || view.mayHaveTask(notice.server, notice.tool)) return true;
      questions.refuseOutsideCalls(notice);
      return false;
    case 'task-status':
      return client.taskMode() === 'requested' && view.mayHaveTask(notice.server, notice.tool);
    case 'task-progress':
      return view.mayHaveTask(notice.server, notice.tool);
    case 'resource-updated':
      return view.mayHave(notice.server, notice.uri);
    default:
      return true;
  }
}

function deliver(parts: SessionParts, notice: SessionNotice): void {
  const {
    host,
    client,
    sight: { view },
    streams,
    forwarding,
    questions,
  } = parts;
  // The endpoint may have been removed meanwhile, or the client's rights.
  if (!mayHave(parts, view, notice)) return;
  const { messages } = forwarding;
  switch (notice.kind) {
    case 'question':
      questions.outsideCalls(notice);
      return;
    case 'question-withdrawn':
      questions.withdrawOutsideCalls(notice);
      return;
    case 'task-status':
      streams.push(notificationText('notifications/tasks/status', messages.task(notice)));
      return;
    case 'task-progress':
      forwarding.taskProgressed(notice);
      host.ownTasks?.taskProgressed(client.key, notice);
      return;
    case 'resource-updated':
      streams.push(
        notificationText('notifications/resources/updated', {
          ...notice.more,
          uri: view.resources.publicUri(notice.server, notice.uri),
        }),
      );
      return;
    case 'log':
      streams.push(messages.log(view, notice.server, notice.params));
      return;
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
  { host, client }: Pick<SessionParts, 'host' | 'client'>,
  server: ServerName,
  waits: Questioner,
): Questioner {
  return transformOutsideCalls(host, client, { kind: 'question', server }).asker(waits);
}

function transformed(
  { questions }: SessionParts,
  notice: SessionNotice,
  transform: CallTransform,
  pass: (notice: SessionNotice) => void,
): void {
  switch (notice.kind) {
    case 'question':
      transform.question(
        { kind: 'input', input: notice.input, method: notice.method, params: notice.params },
        ({ params }) => pass({ ...notice, params }),
        (answer) => questions.answerOutsideCalls(notice, answer),
      );
      return;
    case 'log':
      transform.said('notifications/message', notice.params, (params) => pass({ ...notice, params }));
      return;
    case 'notification':
      transform.said(notice.method, notice.params, (params) =>
        pass(params === undefined ? notice : { ...notice, params }),
      );
      return;
    case 'resource-updated':
    case 'elicitation-complete':
      if (notice.more === undefined) pass(notice);
      else
        saidBeside(
          transform,
          `notifications/${notice.kind === 'resource-updated' ? 'resources/updated' : 'elicitation/complete'}`,
          notice.more,
          (more) => pass({ ...notice, more }),
        );
      return;
    case 'task-status':
      transform.outcome({ kind: 'result', result: notice.task }, (outcome) => {
        if (outcome.kind === 'result') pass({ ...notice, task: outcome.result });
      });
      return;
    case 'task-progress':
      transform.progress(notice.progress, (progress) => pass({ ...notice, progress }));
      return;
    default:
      pass(notice);
  }
}
