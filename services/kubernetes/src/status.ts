/** The status of objects, for `kubectl get` and `kubectl wait`. */
import type { CatalogRecord } from '@omnibus/protocol';
import type { ReadProfile } from './profiles.ts';
import type { Read } from './objects.ts';
import type { Condition, ObjectStatus, ServerObject } from './server-object.ts';

type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** The state of a server, as this process knows it. */
export interface ServerState {
  readonly record: CatalogRecord | undefined;
  readonly isAsleep: boolean;
  /** Why the API server refused its pod; undefined when it accepted it, null where that is not known or it has none. */
  readonly podProblem: string | null | undefined;
  /** The remains of a pod that it does not need any more, in words; undefined if there are none. */
  readonly leftover: string | undefined;
}

/** @returns the status of an `McpServer`. */
export function serverStatus(
  object: ServerObject,
  read: Read,
  { record, isAsleep, podProblem, leftover }: ServerState,
): ObjectStatus {
  const ready = (status: Condition['status'], reason: string, message: string): Said => ({
    type: 'Ready',
    status,
    reason,
    message,
  });
  const pod = 'pod' in read ? read.pod : undefined;
  const before = object.status?.conditions.find(({ type }) => type === 'Deployed');
  const deployed = ((): readonly Said[] => {
    if (pod === undefined)
      return leftover === undefined
        ? []
        : [{ type: 'Deployed', status: 'False', reason: 'NotRemoved', message: leftover }];
    // What an earlier process has written of the same specification is as true as before.
    if (podProblem === null)
      return [
        before?.observedGeneration === object.generation
          ? before
          : { type: 'Deployed', status: 'False', reason: 'Applying', message: `Deployment ${pod.name} is asked for` },
      ];
    return [
      podProblem === undefined
        ? { type: 'Deployed', status: 'True', reason: 'Applied', message: `Deployment ${pod.name}` }
        : { type: 'Deployed', status: 'False', reason: 'Refused', message: podProblem },
    ];
  })();
  const of = (said: Said, tools = 0, revision: string | null = null): ObjectStatus => ({
    observedGeneration: object.generation,
    tools,
    revision,
    conditions: timed(object, [said, ...deployed]),
  });
  if ('problem' in read) return of(ready('False', 'Invalid', read.problem));
  if (record?.status === 'up') {
    const offered = `its tools are offered as ${read.server}__*`;
    return of(
      isAsleep ? ready('True', 'Asleep', `${offered}; the next call wakes it`) : ready('True', 'Connected', offered),
      record.lists.tools.length,
      record.revision ?? null,
    );
  }
  if (typeof podProblem === 'string') return of(ready('False', 'NotDeployed', podProblem));
  return of(ready('False', 'Unreachable', record?.problem ?? 'it is still connecting'));
}

/** @returns the status of an `McpProfile`. */
export function profileStatus(object: ServerObject, read: ReadProfile): ObjectStatus {
  const endpoint = `/mcp/${read.profile}`;
  const said = ((): Said => {
    if ('problem' in read) return { type: 'Ready', status: 'False', reason: 'Invalid', message: read.problem };
    if (read.missing.length > 0)
      return {
        type: 'Ready',
        status: 'True',
        reason: 'Incomplete',
        message: `served at ${endpoint} without ${read.missing.join(', ')}, which are not there`,
      };
    return { type: 'Ready', status: 'True', reason: 'Served', message: `served at ${endpoint}` };
  })();
  return {
    observedGeneration: object.generation,
    endpoint: 'problem' in read ? null : endpoint,
    conditions: timed(object, [said]),
  };
}

/** Adds times to conditions; a condition with an unchanged status keeps the time of its last transition. */
function timed({ generation, status: before }: ServerObject, conditions: readonly Said[]): Condition[] {
  return conditions.map((said) => {
    const last = before?.conditions.find(({ type }) => type === said.type);
    return {
      ...said,
      observedGeneration: generation,
      lastTransitionTime: last?.status === said.status ? last.lastTransitionTime : new Date().toISOString(),
    };
  });
}

/** A text by which two statuses are compared: without times, and with members in a fixed order, since the API server returns them in another. */
export function comparable({ observedGeneration, tools, revision, endpoint, conditions }: ObjectStatus): string {
  return JSON.stringify([
    observedGeneration,
    tools,
    revision,
    endpoint,
    ...conditions.map(({ type, status, reason, message }) => [type, status, reason, message]),
  ]);
}
