/**
 * The place of an installation on a NATS that is shared with others. Its subjects, buckets and streams begin with its prefix, so several installations
 * can share an account without interfering; and it may use the JetStream of another domain, as behind a leaf node.
 */
import type { JetStreamManagerOptions } from '@nats-io/jetstream';
import { root } from '../subject.ts';

export interface NatsPlace {
  /** First token of every subject, and beginning of the name of every bucket and stream. */
  readonly prefix: string;
  /** Domain of JetStream; undefined for that of the server that a process is connected to. */
  readonly domain?: string | undefined;
  /** The region of this process; processes of the same region are preferred. */
  readonly region?: string | undefined;
}

/** The prefix of names in our own tables. */
const ownPrefix = 'omnibus';

export const usualPlace: NatsPlace = { prefix: ownPrefix };

/** The name at NATS of a subject, bucket or stream of ours. */
export function nameAt({ prefix }: NatsPlace, name: string): string {
  return prefix === ownPrefix ? name : prefix + name.slice(ownPrefix.length);
}

/** The beginning of the subjects of JetStream's API (NATS, JetStream domains). */
export function apiAt({ domain }: NatsPlace): string {
  return domain === undefined ? '$JS.API' : `$JS.${domain}.API`;
}

export function managerOptions({ domain }: NatsPlace): JetStreamManagerOptions {
  return { checkAPI: false, ...(domain === undefined ? {} : { domain }) };
}

/** The beginning of the inboxes of an installation: of all its roles, or of NATS' clients where a process has no prefix of its own. */
export function repliesAt(place: NatsPlace, inboxPrefix: string | undefined): string {
  return inboxPrefix === undefined ? '_INBOX.' : nameAt(place, `${root}.inbox.`);
}
