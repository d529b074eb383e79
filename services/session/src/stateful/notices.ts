/** What servers say outside calls, for the client of one session. */
import { notificationText, type ServerNotice } from '@omnibus/protocol';
import { redactedProgress } from '../call/redacted.ts';
import { publicElicitation } from '../public-ids/elicitation-ids.ts';
import type { SessionParts } from './session-parts.ts';

/** A notice that names the sessions it is for. */
export type SessionNotice = Exclude<ServerNotice, { readonly kind: 'adapter-changed' }>;

/** What a server says of its own accord; the rest belongs to what its client began. */
const unasked: ReadonlySet<string> = new Set<SessionNotice['kind']>(['resource-updated', 'log', 'notification']);

export function hearNotice(parts: SessionParts, said: SessionNotice): void {
  const { host, client, sight, streams, forwarding, questions } = parts;
  if (!said.sessions.includes(client.key)) return;
  const { view } = sight;
  if (view?.definition.servers.includes(said.server) !== true) return;
  if (unasked.has(said.kind) && host.callGate?.problemOf(client.facts, said.server, undefined) !== undefined) return;
  const notice = clean(parts, said);
  const { words } = forwarding;
  switch (notice.kind) {
    case 'question':
      if (notice.tool === undefined || view.mayHaveTask(notice.server, notice.tool)) questions.outsideCalls(notice);
      else questions.refuseOutsideCalls(notice);
      return;
    case 'question-withdrawn':
      questions.withdrawOutsideCalls(notice);
      return;
    case 'task-status':
      if (client.taskMode() === 'requested' && view.mayHaveTask(notice.server, notice.tool)) streams.push(notificationText('notifications/tasks/status', words.task(notice)));
      return;
    case 'task-progress':
      if (view.mayHaveTask(notice.server, notice.tool)) forwarding.taskProgressed(notice);
      return;
    case 'resource-updated':
      if (view.mayHave(notice.server, notice.uri)) streams.push(notificationText('notifications/resources/updated', { ...notice.more, uri: view.resources.publicUri(notice.server, notice.uri) }));
      return;
    case 'log': {
      // It belongs to no call, and can concern this session alone.
      const text = words.log(view, notice.server, notice.params);
      if (text !== undefined) streams.push(text);
      return;
    }
    case 'notification':
      streams.push(words.notification(notice.server, notice.method, notice.params));
      return;
    case 'elicitation-complete':
      streams.push(notificationText('notifications/elicitation/complete', publicElicitation(notice.server, { ...notice.more, elicitationId: notice.elicitationId })));
  }
}

/** The same without what rules take out of it: by the tool that a task runs, and of anything else by all that rules take out at the server. */
function clean({ client, sight }: SessionParts, notice: SessionNotice): SessionNotice {
  const { server } = notice;
  const tool = 'tool' in notice ? notice.tool : undefined;
  const redaction = client.access()?.redaction(tool === undefined ? { kind: 'server', server, name: notice.kind, method: notice.kind } : { kind: 'tool', server, name: tool, method: 'tasks/get', entry: sight.view?.toolOf(server, tool), isBegun: true });
  if (redaction === undefined) return notice;
  switch (notice.kind) {
    case 'question':
    case 'log':
      return { ...notice, params: redaction.said(notice.params) };
    case 'notification':
      return notice.params === undefined ? notice : { ...notice, params: redaction.said(notice.params) };
    case 'resource-updated':
    case 'elicitation-complete':
      return notice.more === undefined ? notice : { ...notice, more: redaction.said(notice.more) };
    case 'task-status':
      return { ...notice, task: redaction.result(notice.task) };
    case 'task-progress':
      return { ...notice, progress: redactedProgress(notice.progress, redaction) };
    default:
      return notice;
  }
}
