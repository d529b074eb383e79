/** Questions to a decision point, in its words: subject, action, resource and context. */
import type { Caller, Facts, JsonObject } from '@omnibus/protocol';

export type ResourceKind = 'tool' | 'prompt' | 'resource' | 'server';

/** The methods that lists ask about: the entry may be shown if it may be used. */
export const usingMethods = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const;

/** The caller; the same facts give an equal object. */
export function subjectOf(facts: Facts | undefined): JsonObject {
  if (facts === undefined) return { type: 'anonymous', id: 'anonymous' };
  const { issuer, subject, tenant, groups, client, scopes, actors, agent, claims, grants } = facts;
  const properties = {
    issuer,
    subject,
    tenant,
    groups,
    client,
    scopes,
    agent,
    claims,
    grants,
    ...(actors.length === 0 ? {} : { actors: actors.map((actor) => `${actor.issuer}|${actor.subject}`) }),
  };
  return JSON.parse(JSON.stringify({ type: 'user', id: `${issuer}|${subject}`, properties })) as JsonObject;
}

export function actionOf(method: string): JsonObject {
  return { name: method };
}

/** @param name the server's own name, or the URI. */
export function resourceOf(kind: ResourceKind, server: string, name: string): JsonObject {
  return { type: kind, id: kind === 'server' ? server : `${server}/${name}`, properties: { server, name } };
}

/** @param args of a tool or prompt, as the server would get them. */
export function contextOf(args: unknown, { address, endpoint }: Pick<Caller, 'address' | 'endpoint'>): JsonObject {
  return {
    time: new Date().toISOString(),
    endpoint,
    ...(args === undefined ? {} : { arguments: args as JsonObject }),
    ...(address === undefined ? {} : { address }),
  };
}
